//! A run in a row of a table.

use leptos::prelude::*;

use super::{Column, Mark, RowName, badge, when_relative};
use crate::{
    model::{Ending, RunRow, RunTrigger},
    route::Route,
    state::use_now,
    time::{Moment, duration},
};

/// The name of a run's row, and the ids by which tests find it.
pub(crate) fn run_name(run: &RunRow) -> RowName {
    let state = Mark::Run(run.state).state();
    RowName { name: format!("the run of {}", run.title()), test: "run-row", state }
}

/// The columns of a list of runs. On a schedule's own page, the column of the schedule is left out; across all
/// namespaces, there is a column of the namespace.
pub(crate) fn run_columns(shows_schedule: bool, is_across: bool) -> Vec<Column> {
    let mut columns = vec![Column::new("state", "State", state)];
    if shows_schedule {
        columns.push(Column::new("schedule", "Schedule", schedule).head());
    }
    if is_across {
        let namespace = |run: &RunRow| run.namespace.clone().into_any();
        columns.push(Column::new("namespace", "Namespace", namespace));
    }
    columns.extend([
        Column::new("scheduled", "Scheduled", |run: &RunRow| time(Some(run.scheduled_at), run)),
        Column::new("created", "Created", |run: &RunRow| time(Some(run.created_at), run))
            .class("wide spare"),
        Column::new("started", "Started", |run: &RunRow| time(run.started_at, run))
            .sorts("started")
            .extra(),
        Column::new("finished", "Finished", |run: &RunRow| time(run.finished_at, run)).extra(),
        Column::new("trigger", "Trigger", |run: &RunRow| {
            trigger_words(run.trigger, run.is_recovery).into_any()
        })
        .class("wide"),
        Column::new("late", "Late", late).class("number wide"),
        Column::new("took", "Took", took).class("number").sorts("took"),
        Column::new("attempt", "Attempt", |run: &RunRow| {
            attempt_words(run.attempt, run.max_attempts).into_any()
        })
        .class("number wide"),
        Column::new("ending", "Ended with", |run: &RunRow| {
            view! { {run.ending.as_ref().and_then(Ending::words)} }.into_any()
        })
        .class("code nowrap wide"),
        Column::new("error", "Error", error).class("error-cell wide"),
        Column::new("node", "Node", |run: &RunRow| view! { {run.node.clone()} }.into_any())
            .class("wide")
            .extra(),
        Column::new("workflow", "Workflow", |run: &RunRow| run.workflow.name.clone().into_any())
            .class("wide")
            .extra(),
    ]);
    columns
}

/// The cell of the state. Its first link leads to the run.
fn state(run: &RunRow) -> AnyView {
    let mark = Mark::Run(run.state);
    let name = format!("Run of {}, {}", run.title(), mark.word());
    let href = Route::Run(run.id.clone()).path();
    view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a> }.into_any()
}

fn schedule(run: &RunRow) -> AnyView {
    let title = run.title().to_owned();
    match &run.schedule {
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path();
            view! { <a href=href>{title}</a> }.into_any()
        }
        None => title.into_any(),
    }
}

fn time(at: Option<Moment>, run: &RunRow) -> AnyView {
    match at {
        Some(at) => when_relative(at, run.zone()),
        None => view! { <span class="muted">"–"</span> }.into_any(),
    }
}

fn late(run: &RunRow) -> AnyView {
    run.lateness_ms.map_or_else(|| "–".to_owned(), duration).into_any()
}

/// The cell of the duration. It counts up for a live run, and is fixed for a settled one.
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

/// The current attempt, and how many are allowed. A run of several tasks is allowed one, however often a node has
/// taken it, because each of its tasks counts its own.
fn attempt_words(attempt: i64, most: i64) -> String {
    if most > 1 { format!("{attempt}/{most}") } else { attempt.to_string() }
}

fn error(run: &RunRow) -> AnyView {
    let text = run.error.clone();
    view! { {text.map(|text| view! { <span title=text.clone()>{text.clone()}</span> })} }.into_any()
}

/// What started a run, in words.
pub(crate) fn trigger_words(trigger: RunTrigger, is_recovery: bool) -> &'static str {
    match (trigger, is_recovery) {
        (_, true) => "recovery",
        (RunTrigger::Schedule, false) => "schedule",
        (RunTrigger::Manual, false) => "by hand",
        (RunTrigger::Retry, false) => "retry",
        (RunTrigger::Backfill, false) => "backfill",
    }
}

#[cfg(test)]
mod tests {
    use super::attempt_words;

    #[test]
    fn an_attempt_is_one_of_several_only_if_several_are_allowed() {
        assert_eq!(attempt_words(2, 3), "2/3");
        assert_eq!([attempt_words(1, 1), attempt_words(2, 1)], ["1", "2"]);
    }
}
