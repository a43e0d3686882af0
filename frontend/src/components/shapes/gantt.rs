//! Tasks over time: a row for each task, a bar for each attempt.

use leptos::prelude::*;

use super::scale::{ceiling_of_time, short};
use crate::time::duration;

const LENGTH: f64 = 1_000.0;
/// The minimum width of a bar, so that an attempt that took no time is still visible.
const LEAST: f64 = 4.0;

/// One row. Its name is a button that filters the content beside the chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GanttRow {
    pub(crate) name: String,
    /// A short note: the row's state, and what else there is to say.
    pub(crate) note: String,
    pub(crate) state: &'static str,
    pub(crate) bars: Vec<GanttBar>,
}

/// One attempt, in milliseconds from the start of the chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GanttBar {
    pub(crate) number: i64,
    pub(crate) state: &'static str,
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// The bar's tooltip.
    pub(crate) title: String,
}

/// The selection: a row's name, or one attempt in that row. An empty name and no attempt select
/// everything.
pub(crate) type Chosen = (String, Option<i64>);

/// Draws the rows. The axis ends after the last bar.
pub(crate) fn gantt(
    name: &'static str,
    rows: Vec<GanttRow>,
    chosen: &Chosen,
    choose: Callback<Chosen>,
) -> AnyView {
    let end = rows.iter().flat_map(|row| &row.bars).map(|bar| bar.to).max().unwrap_or(0);
    let top = ceiling_of_time(end.max(1));
    let rows: Vec<_> = rows.into_iter().map(|row| line(row, top, chosen, choose)).collect();
    let mark = |quarter: i64| view! { <span>{duration(top * quarter / 4)}</span> }.into_any();
    let marks = [1, 2, 3, 4].map(mark);
    view! {
        <div class="gantt">
            <ul class="gantt-rows" aria-label=name>{rows}</ul>
            <div class="gantt-axis" aria-hidden="true"><span>"0"</span>{Vec::from(marks)}</div>
        </div>
    }
    .into_any()
}

fn line(row: GanttRow, top: i64, chosen: &Chosen, choose: Callback<Chosen>) -> AnyView {
    let is_row = chosen.0 == row.name;
    let whole_row = is_row && chosen.1.is_none();
    let bars: Vec<_> = row.bars.iter().map(|bar| drawn(bar, top)).collect();
    let summary = summary(&row);
    let name = row.name.clone();
    let to = if whole_row { (String::new(), None) } else { (name, None) };
    let attempts = (row.bars.len() > 1).then(|| {
        let attempt = |bar: &GanttBar| {
            let is_chosen = is_row && chosen.1 == Some(bar.number);
            let to = (row.name.clone(), (!is_chosen).then_some(bar.number));
            let label = format!("Attempt {} of {}: {}", bar.number, row.name, bar.title);
            view! {
                <button
                    type="button"
                    class="gantt-attempt"
                    data-state=bar.state
                    aria-pressed=if is_chosen { "true" } else { "false" }
                    aria-label=label
                    title=bar.title.clone()
                    on:click=move |_| choose.run(to.clone())
                >
                    {bar.number}
                </button>
            }
            .into_any()
        };
        let attempts: Vec<_> = row.bars.iter().map(attempt).collect();
        view! { <span class="gantt-attempts">{attempts}</span> }.into_any()
    });
    view! {
        <li class="gantt-row" data-testid="task-row" data-state=row.state data-chosen=is_row.then_some("")>
            <span class="gantt-name">
                <button
                    type="button"
                    class="gantt-task"
                    aria-pressed=if whole_row { "true" } else { "false" }
                    on:click=move |_| choose.run(to.clone())
                >
                    {row.name}
                </button>
                <span class="gantt-note">{row.note}</span>
                {attempts}
            </span>
            <svg class="gantt-bars" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=summary>
                <path class="chart-grid" d="M250 0V20M500 0V20M750 0V20M1000 0V20"/>
                {bars}
            </svg>
        </li>
    }
    .into_any()
}

fn drawn(bar: &GanttBar, top: i64) -> AnyView {
    let (x, width) = span(bar.from, bar.to, top);
    view! {
        <rect class="gantt-bar" data-state=bar.state x=x y="4" width=width height="12">
            <title>{bar.title.clone()}</title>
        </rect>
    }
    .into_any()
}

/// A bar's left edge and its width.
fn span(from: i64, to: i64, top: i64) -> (f64, f64) {
    let place = |millis: i64| (millis.max(0) as f64 / top.max(1) as f64).min(1.0) * LENGTH;
    let (begin, end) = (place(from), place(to));
    let begin = begin.min(LENGTH - LEAST);
    (short(begin), short((end - begin).max(LEAST)))
}

/// A row's bars in words: `build: attempt 1 failed, from 0 ms to 1.2 s; …`.
fn summary(row: &GanttRow) -> String {
    if row.bars.is_empty() {
        return format!("{}: {}", row.name, row.note);
    }
    let words: Vec<String> = row
        .bars
        .iter()
        .map(|bar| {
            format!(
                "attempt {}, {}, from {} to {}",
                bar.number,
                bar.state.replace('_', " "),
                duration(bar.from),
                duration(bar.to)
            )
        })
        .collect();
    format!("{}: {}", row.name, words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_at_its_time_and_never_too_thin() {
        assert_eq!(span(250, 750, 1_000), (250.0, 500.0));
        assert_eq!(span(0, 0, 1_000), (0.0, LEAST));
        assert_eq!(span(1_000, 1_000, 1_000), (LENGTH - LEAST, LEAST));
        assert_eq!(span(-50, 500, 1_000), (0.0, 500.0));
    }

    #[test]
    fn a_row_is_described_in_words() {
        let bar =
            |number, state, from, to| GanttBar { number, state, from, to, title: String::new() };
        let mut row = GanttRow {
            name: "build".to_owned(),
            note: "Waiting".to_owned(),
            state: "queued",
            bars: Vec::new(),
        };
        assert_eq!(summary(&row), "build: Waiting");
        row.bars = vec![bar(1, "timed_out", 0, 830), bar(2, "succeeded", 1_000, 2_500)];
        assert_eq!(
            summary(&row),
            "build: attempt 1, timed out, from 0 ms to 830 ms; attempt 2, succeeded, from 1.0 s to 2.5 s"
        );
    }
}
