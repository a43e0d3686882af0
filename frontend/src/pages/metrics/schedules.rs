//! The schedules whose runs take longest, with their figures over the range and their last fires.

use leptos::prelude::*;

use super::{NAMES, exactly};
use crate::{
    components::{Mark, SparkBar, heading, sparkline, table},
    model::{FireTrace, Percentiles, ScheduleFigures},
    pages::kit::{place_cell, placed},
    route::{Route, Scope},
    state::use_address,
    time::{duration, grouped},
};

pub(super) fn schedules(figures: &[ScheduleFigures]) -> AnyView {
    if figures.is_empty() {
        return nothing();
    }
    let headings = vec![
        heading("Schedule", ""),
        heading("Last fires", "wide"),
        heading("Runs", "number"),
        heading("Failed", "number"),
        heading("p50", "number wide"),
        heading("p95", "number"),
        heading("p99", "number wide"),
        heading("Late p95", "number wide"),
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    table("Schedules by duration", "table", placed(headings, 1), rows.into_any())
}

/// The view of a list without schedules, with the next step.
fn nothing() -> AnyView {
    let address = use_address();
    let is_narrowed = NAMES.iter().any(|name| !untrack(|| address.query(name)).is_empty());
    let (words, step, href) = if is_narrowed {
        let all = untrack(|| address.href(&NAMES.map(|name| (name, ""))));
        ("No schedule has this name and this tag.", "Show all schedules", all)
    } else {
        ("There is no schedule yet.", "All schedules", Route::Schedules.path())
    };
    view! { <p class="empty">{words}" "<a href=href>{step}</a></p> }.into_any()
}

fn row(figures: &ScheduleFigures) -> AnyView {
    let stats = &figures.stats;
    let of = |percentiles: Option<Percentiles>, which: fn(Percentiles) -> i64| {
        percentiles.map_or_else(|| "–".to_owned(), |all| duration(which(all)))
    };
    let terms = run_terms(&figures.name, &stats.from.to_rfc3339(), &stats.until.to_rfc3339());
    let home = Scope::One(figures.namespace.clone());
    let runs = |state: &str| Route::Runs.narrowed_in(&home, &[("state", state), ("q", &terms)]);
    let more = if stats.is_complete { "" } else { "+" };
    let bars: Vec<_> = figures.recent_fires.iter().rev().map(bar).collect();
    view! {
        <tr data-testid="schedule-figures">
            <th scope="row" class="name-cell"><a href=Route::Schedule(figures.id.clone()).path()>{figures.name.clone()}</a></th>
            {place_cell(&figures.namespace)}
            <td class="wide">{sparkline("The last fires", &bars)}</td>
            <td class="number">{counted(stats.runs, runs(""), "")}{more}</td>
            <td class="number">{counted(stats.failed, runs("failed"), "bad")}</td>
            <td class="number wide">{of(stats.durations, |all| all.p50)}</td>
            <td class="number">{of(stats.durations, |all| all.p95)}</td>
            <td class="number wide">{of(stats.durations, |all| all.p99)}</td>
            <td class="number wide">{of(stats.latenesses, |all| all.p95)}</td>
        </tr>
    }
    .into_any()
}

/// A number of runs, with a link to them if there are any.
fn counted(count: i64, href: String, class: &'static str) -> AnyView {
    if count == 0 {
        return "0".into_any();
    }
    view! { <a class=class href=href>{grouped(count)}</a> }.into_any()
}

/// The search for the counted runs of a schedule.
fn run_terms(name: &str, from: &str, until: &str) -> String {
    format!("{} created:>={from} created:<{until}", exactly(name))
}

/// A bar whose height is the duration of the run. A fire without a run is as tall as the tallest
/// bar.
fn bar(fire: &FireTrace) -> SparkBar {
    let mark = fire.run.as_ref().map_or(Mark::Verdict(fire.verdict), |run| Mark::Run(run.state));
    let value = fire.run.as_ref().and_then(|run| run.duration_ms);
    SparkBar { state: mark.state(), word: mark.word(), value }
}

#[cfg(test)]
mod tests {
    use super::run_terms;

    #[test]
    fn a_number_leads_to_the_runs_of_its_range() {
        let terms = run_terms("night shift", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z");
        let range = "created:>=2026-01-31T00:00:00Z created:<2026-02-01T00:00:00Z";
        assert_eq!(terms, format!("schedule:\"night shift\" {range}"));
    }
}
