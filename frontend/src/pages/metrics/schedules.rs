//! The schedules whose runs take longest, with their figures over the range and their last fires.

use leptos::prelude::*;

use crate::{
    components::{Mark, SparkBar, heading, sparkline, table},
    model::{FireTrace, Percentiles, ScheduleFigures},
    pages::kit::{place_cell, placed},
    route::Route,
    time::duration,
};

pub(super) fn schedules(figures: &[ScheduleFigures]) -> AnyView {
    if figures.is_empty() {
        return view! { <p class="empty">"No schedule here."</p> }.into_any();
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

fn row(figures: &ScheduleFigures) -> AnyView {
    let stats = &figures.stats;
    let of = |percentiles: Option<Percentiles>, which: fn(Percentiles) -> i64| {
        percentiles.map_or_else(|| "–".to_owned(), |all| duration(which(all)))
    };
    let failed = Route::Runs
        .narrowed(&[("state", "failed"), ("q", &format!("schedule:\"{}\"", figures.name))]);
    let more = if stats.is_complete { "" } else { "+" };
    let bars: Vec<_> = figures.recent_fires.iter().rev().map(bar).collect();
    view! {
        <tr data-testid="schedule-figures">
            <th scope="row" class="name-cell"><a href=Route::Schedule(figures.id.clone()).path()>{figures.name.clone()}</a></th>
            {place_cell(&figures.namespace)}
            <td class="wide">{sparkline("The last fires", &bars)}</td>
            <td class="number">{stats.runs}{more}</td>
            <td class="number">{if stats.failed > 0 {
                view! { <a class="bad" href=failed>{stats.failed}</a> }.into_any()
            } else {
                "0".into_any()
            }}</td>
            <td class="number wide">{of(stats.durations, |all| all.p50)}</td>
            <td class="number">{of(stats.durations, |all| all.p95)}</td>
            <td class="number wide">{of(stats.durations, |all| all.p99)}</td>
            <td class="number wide">{of(stats.latenesses, |all| all.p95)}</td>
        </tr>
    }
    .into_any()
}

/// A bar whose height is the duration of the run. A fire without a run is as tall as the tallest
/// bar.
fn bar(fire: &FireTrace) -> SparkBar {
    let mark = fire.run.as_ref().map_or(Mark::Verdict(fire.verdict), |run| Mark::Run(run.state));
    let value = fire.run.as_ref().and_then(|run| run.duration_ms);
    SparkBar { state: mark.state(), word: mark.word(), value }
}
