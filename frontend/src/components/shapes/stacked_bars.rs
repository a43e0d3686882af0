//! Counts over time: one column per step, split by outcome.

use leptos::prelude::*;

use super::{
    chart::{Chart, HEIGHT, LENGTH, chart},
    drag::Drag,
    scale::{ceiling, share, short},
    twin::{Twin, TwinRow},
};

/// The minimum height of a part, so that a single failure among thousands is still visible.
const LEAST: f64 = 2.5;

/// The parts of a column, from the bottom up: the state that colours the part, and its word.
pub(crate) type Parts = Vec<(&'static str, &'static str)>;

/// One step of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BarColumn {
    /// The column's time, in words.
    pub(crate) name: String,
    /// The address of a page with the column's runs.
    pub(crate) href: Option<String>,
    /// One count per part.
    pub(crate) counts: Vec<i64>,
}

/// Draws the columns. `what` names the counted objects, such as `Runs that ended`.
pub(crate) fn stacked_bars(
    what: &'static str,
    parts: Parts,
    columns: Vec<BarColumn>,
    axis: Vec<String>,
    drag: Drag,
    chosen: Callback<(usize, usize)>,
) -> AnyView {
    let summary = summary(what, &parts, &columns);
    drawn(what, summary, parts, columns, axis, drag, chosen)
}

/// Draws columns whose numbers are levels and not counts: they are not added up over the columns.
pub(crate) fn peak_bars(
    what: &'static str,
    parts: Parts,
    columns: Vec<BarColumn>,
    axis: Vec<String>,
    drag: Drag,
    chosen: Callback<(usize, usize)>,
) -> AnyView {
    let summary = peak(what, &columns);
    drawn(what, summary, parts, columns, axis, drag, chosen)
}

fn drawn(
    what: &'static str,
    summary: String,
    parts: Parts,
    columns: Vec<BarColumn>,
    axis: Vec<String>,
    drag: Drag,
    chosen: Callback<(usize, usize)>,
) -> AnyView {
    let top = ceiling(columns.iter().map(|column| column.counts.iter().sum()).max().unwrap_or(0));
    let width = LENGTH / columns.len().max(1) as f64;
    let gap = if columns.len() > 200 { 0.0 } else { width * 0.14 };
    let states: Vec<_> = parts.iter().map(|(state, _)| *state).collect();
    let bars = columns.iter().enumerate().flat_map(|(index, column)| {
        let x = short(index as f64 * width + gap / 2.0);
        let bar = move |(state, y, height): (&'static str, f64, f64)| {
            view! {
                <rect
                    class="chart-part"
                    data-state=state
                    x=x
                    y=short(y)
                    width=short(width - gap)
                    height=short(height)
                />
            }
            .into_any()
        };
        let boxes = stack(&column.counts, top);
        let boxes = states.iter().copied().zip(boxes).filter(|(_, (_, height))| *height > 0.0);
        boxes.map(|(state, (y, height))| bar((state, y, height))).collect::<Vec<_>>()
    });
    let drawing = bars.collect::<Vec<_>>().into_any();
    let readout = columns.iter().map(|column| said(column, &parts)).collect();
    let mut headings = vec!["When"];
    headings.extend(parts.iter().map(|(_, words)| *words));
    let row = |column: BarColumn| TwinRow {
        name: column.name,
        href: column.href,
        cells: column.counts.iter().map(i64::to_string).collect(),
    };
    let twin = Twin { caption: what, headings, rows: columns.into_iter().map(row).collect() };
    let middle = if top > 1 { (top / 2).to_string() } else { String::new() };
    let whole = Chart {
        summary,
        top: top.to_string(),
        middle,
        axis,
        legend: parts,
        readout,
        drawing,
        twin,
    };
    chart(whole, drag, chosen)
}

/// The top edge and the height of each part of a column, from the bottom up.
fn stack(counts: &[i64], top: i64) -> Vec<(f64, f64)> {
    let heights: Vec<f64> = counts
        .iter()
        .map(|count| if *count > 0 { share(*count, top, HEIGHT).max(LEAST) } else { 0.0 })
        .collect();
    let total: f64 = heights.iter().sum();
    let squeeze = if total > HEIGHT { HEIGHT / total } else { 1.0 };
    let mut y = HEIGHT;
    let place = |height: f64| {
        let height = height * squeeze;
        y -= height;
        (y, height)
    };
    heights.into_iter().map(place).collect()
}

/// A column in words: `Wed 25 Nov 02:00: 12 succeeded, 1 failed`.
fn said(column: &BarColumn, parts: &Parts) -> String {
    let counts = column.counts.iter().zip(parts).filter(|(count, _)| **count > 0);
    let words: Vec<String> =
        counts.map(|(count, (_, word))| format!("{count} {}", word.to_ascii_lowercase())).collect();
    let words = if words.is_empty() { "nothing".to_owned() } else { words.join(", ") };
    format!("{}: {words}", column.name)
}

/// The highest column in words: `Runs at once: at most 7, first at Wed 25 Nov 14:00`.
fn peak(what: &str, columns: &[BarColumn]) -> String {
    let level = |column: &BarColumn| column.counts.iter().sum::<i64>();
    let top = columns.iter().map(level).max().unwrap_or_default();
    let first = columns.iter().find(|column| top > 0 && level(column) == top);
    match first {
        Some(column) => format!("{what}: at most {top}, first at {}", column.name),
        None => format!("{what}: none"),
    }
}

fn summary(what: &str, parts: &Parts, columns: &[BarColumn]) -> String {
    let totals = parts.iter().enumerate().map(|(part, (_, word))| {
        let total: i64 = columns.iter().filter_map(|column| column.counts.get(part)).sum();
        (total, word.to_ascii_lowercase())
    });
    let words: Vec<String> = totals
        .filter(|(total, _)| *total > 0)
        .map(|(total, word)| format!("{total} {word}"))
        .collect();
    let words = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    format!("{what}: {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(counts: &[i64]) -> BarColumn {
        BarColumn { name: "02:00".to_owned(), href: None, counts: counts.to_vec() }
    }

    const PARTS: [(&str, &str); 2] = [("succeeded", "Succeeded"), ("failed", "Failed")];

    #[test]
    fn parts_are_stacked_and_stay_inside() {
        assert_eq!(stack(&[50, 25], 100), [(50.0, 50.0), (25.0, 25.0)]);
        let full = stack(&[100, 1], 100);
        let heights: f64 = full.iter().map(|(_, height)| height).sum();
        assert!((heights - HEIGHT).abs() < 0.001, "{full:?}");
    }

    #[test]
    fn a_single_failure_among_thousands_is_seen() {
        let boxes = stack(&[9_000, 1], 10_000);
        assert!(boxes[1].1 >= LEAST, "{boxes:?}");
        assert_eq!(stack(&[0, 0], 10), [(100.0, 0.0), (100.0, 0.0)]);
    }

    #[test]
    fn a_column_and_the_whole_chart_are_described_in_words() {
        let parts = PARTS.to_vec();
        assert_eq!(said(&column(&[12, 1]), &parts), "02:00: 12 succeeded, 1 failed");
        assert_eq!(said(&column(&[0, 0]), &parts), "02:00: nothing");
        let columns = [column(&[12, 1]), column(&[3, 0])];
        assert_eq!(summary("Runs", &parts, &columns), "Runs: 15 succeeded, 1 failed");
        assert_eq!(summary("Runs", &parts, &[]), "Runs: none");
        assert_eq!(peak("Runs at once", &columns), "Runs at once: at most 13, first at 02:00");
        assert_eq!(peak("Runs at once", &[column(&[0])]), "Runs at once: none");
    }
}
