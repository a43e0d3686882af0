//! Runs in a table, live.

use leptos::prelude::*;

use super::{Mark, badge, heading, rows, table, when_relative};
use crate::{
    model::{Ending, RunRow, RunTrigger},
    route::Route,
    state::{List, use_address, use_now},
    time::duration,
};

/// One row per run. A schedule's own page leaves out the schedule column; across all namespaces, each row names its
/// namespace.
pub(crate) fn run_table(runs: List, caption: &'static str, shows_schedule: bool) -> AnyView {
    let mut headings = vec![
        heading("State", ""),
        heading("Schedule", ""),
        heading("Scheduled", ""),
        heading("Trigger", "wide"),
        heading("Late", "number wide"),
        heading("Took", "number"),
        heading("Attempt", "number wide"),
        heading("Ended with", "wide"),
        heading("Error", "wide"),
    ];
    let is_across = untrack(|| use_address().is_across());
    if is_across {
        headings.insert(2, heading("Namespace", ""));
    }
    if !shows_schedule {
        headings.remove(1);
    }
    table(caption, "table", headings, rows(runs, move |run| row(run, shows_schedule, is_across)))
}

fn row(run: &RunRow, shows_schedule: bool, is_across: bool) -> AnyView {
    let mark = Mark::Run(run.state);
    let title = run.title().to_owned();
    let name = format!("Run of {title}, {}", mark.word());
    let schedule = shows_schedule.then(|| {
        let title = match &run.schedule {
            Some(schedule) => {
                let href = Route::Schedule(schedule.id.clone()).path();
                view! { <a href=href>{title}</a> }.into_any()
            }
            None => title.into_any(),
        };
        view! { <th scope="row" class="name-cell">{title}</th> }.into_any()
    });
    let late = run.lateness_ms.map_or_else(|| "–".to_owned(), duration);
    view! {
        <tr data-testid="run-row" data-state=mark.state()>
            <td>
                <a class="cell-link" href=Route::Run(run.id.clone()).path() aria-label=name>{badge(mark)}</a>
            </td>
            {schedule}
            {is_across.then(|| view! { <td>{run.namespace.clone()}</td> })}
            <td>{when_relative(run.scheduled_at, run.zone())}</td>
            <td class="wide">{trigger_words(run.trigger, run.is_recovery)}</td>
            <td class="number wide">{late}</td>
            <td class="number">{took(run)}</td>
            <td class="number wide">{format!("{}/{}", run.attempt, run.max_attempts)}</td>
            <td class="code nowrap wide">{run.ending.as_ref().and_then(Ending::words)}</td>
            <td class="error-cell wide" title=run.error.clone()>{run.error.clone()}</td>
        </tr>
    }
    .into_any()
}

/// The duration of a live run counts up; that of a settled one is fixed.
fn took(run: &RunRow) -> AnyView {
    match (run.duration_ms, run.started_at) {
        (Some(millis), _) => duration(millis).into_any(),
        (None, Some(started)) if run.state.is_live() => {
            let now = use_now();
            let so_far = move || duration(now.get().since(started) / 1_000 * 1_000);
            view! { {move || so_far()} }.into_any()
        }
        (None, _) => "–".into_any(),
    }
}

/// What triggered a run.
fn trigger_words(trigger: RunTrigger, is_recovery: bool) -> &'static str {
    match (trigger, is_recovery) {
        (_, true) => "recovery",
        (RunTrigger::Schedule, false) => "schedule",
        (RunTrigger::Manual, false) => "by hand",
        (RunTrigger::Retry, false) => "retry",
        (RunTrigger::Backfill, false) => "backfill",
    }
}
