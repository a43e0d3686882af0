//! The tasks of a run: over time with their attempts, or as a dependency graph. Selecting a task filters the
//! attempts, the log and the output.

use leptos::prelude::*;

use super::looking::Looking;
use crate::{
    components::{
        Chosen, DagNode, DagView, GanttBar, GanttRow, Mark, dag, gantt, live, panel, use_dag_view,
    },
    data::Load,
    model::{Attempt, RunDetail, RunTask, TaskCondition},
    pages::parts,
    state::use_now,
    time::{Moment, duration},
};

#[component]
pub(super) fn Work(run: Load<RunDetail>, looking: Looking) -> impl IntoView {
    let look = use_dag_view();
    let now = use_now();
    let choose = Callback::new(move |chosen: Chosen| looking.choose(chosen));
    let shows_graph = Memo::new(move |_| looking.shows_graph());
    // The bars of a live run grow with the clock; those of a settled run are fixed.
    let clock = Memo::new(move |_| {
        let is_live = run.with(|run| run.row.state.is_live()) == Some(true);
        if is_live { now.get() } else { untrack(|| now.get()) }
    });
    let drawing = move || {
        if shows_graph.get() {
            return parts::run_graph(run, looking, look).show("graph");
        }
        let chosen = looking.chosen();
        let name = "Tasks and their attempts";
        run.with(|run| gantt(name, rows(run, clock.get()), &chosen, choose))
            .unwrap_or_else(|| ().into_any())
    };
    let is_alone = Memo::new(move |_| run.with(|run| run.more.tasks.len()).unwrap_or(0) < 2);
    let aside = live(move || {
        if is_alone.get() {
            return ().into_any();
        }
        let over = run.with(|run| {
            let over = run.more.tasks.iter().filter(|task| task.state.is_over()).count();
            format!("{over} of {} over", run.more.tasks.len())
        });
        let form = |words: &'static str, graph: bool| {
            let pressed = move || if shows_graph.get() == graph { "true" } else { "false" };
            view! {
                <button type="button" class="button" aria-pressed=pressed on:click=move |_| looking.show_graph(graph)>{words}</button>
            }
            .into_any()
        };
        view! {
            <span class="panel-tools">
                <span class="muted">{over}</span>
                {form("Over time", false)}
                {form("Graph", true)}
            </span>
        }
        .into_any()
    });
    panel("Tasks", aside, live(drawing))
}

/// The tasks as a graph.
pub(in crate::pages) fn graph(run: Load<RunDetail>, looking: Looking, look: DagView) -> AnyView {
    let choose = Callback::new(move |task: String| looking.choose((task, None)));
    live(move || {
        let (chosen, _) = looking.chosen();
        run.with(|run| {
            let nodes: Vec<_> = run.more.tasks.iter().map(node).collect();
            dag(&nodes, &chosen, choose, look)
        })
        .unwrap_or_else(|| ().into_any())
    })
}

/// The beginning of the chart: the first start of an attempt.
fn begin(run: &RunDetail) -> Option<Moment> {
    let attempts = run.more.tasks.iter().flat_map(|task| &task.attempts);
    attempts.map(|attempt| attempt.started_at).min()
}

fn rows(run: &RunDetail, now: Moment) -> Vec<GanttRow> {
    let begin = begin(run);
    let bar = |attempt: &Attempt| {
        let begin = begin.unwrap_or(attempt.started_at);
        let from = attempt.started_at.since(begin);
        let ended = attempt.finished_at.map(|at| at.since(begin));
        let to = ended.unwrap_or_else(|| now.since(begin)).max(from);
        let mark = Mark::Attempt(attempt.state);
        let code = attempt.code().map(|code| format!(", {code}")).unwrap_or_default();
        let title = format!("{} after {}{code}", mark.word(), duration(to - from));
        GanttBar { number: attempt.attempt, state: mark.state(), from, to, title }
    };
    let row = |task: &RunTask| GanttRow {
        name: task.name.clone(),
        note: note(task),
        state: Mark::Task(task.state).state(),
        bars: task.attempts.iter().map(bar).collect(),
    };
    run.more.tasks.iter().map(row).collect()
}

/// A task's state in words, and the tasks that it needs.
fn note(task: &RunTask) -> String {
    let state = Mark::Task(task.state).word();
    let kept = if task.kept { ", kept from the earlier run" } else { "" };
    let names = task.needs.join(", ");
    let needs = match (task.needs.is_empty(), task.when) {
        (true, _) => String::new(),
        (false, TaskCondition::Success) => format!(" · needs {names}"),
        (false, TaskCondition::Failure) => format!(" · after {names}; if one of them failed"),
        (false, TaskCondition::Always) => format!(" · after {names}; with any result"),
    };
    format!("{state}{kept}{needs}")
}

fn node(task: &RunTask) -> DagNode {
    let mark = Mark::Task(task.state);
    let attempts = match task.attempts.len() {
        0 | 1 => String::new(),
        count => format!(" · {count} attempts"),
    };
    DagNode {
        name: task.name.clone(),
        state: mark.state(),
        word: format!("{}{attempts}", mark.word()),
        needs: task.needs.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn task(change: &Value) -> RunTask {
        let mut task = json!({
            "name": "build", "needs": [], "when": "SUCCESS", "state": "FAILED", "kept": false,
            "output": null, "attempts": [],
        });
        task.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(task).unwrap()
    }

    #[test]
    fn a_note_says_what_a_task_needs_and_how_that_must_have_ended() {
        assert_eq!(note(&task(&json!({}))), "Failed");
        let needs = json!({ "needs": ["a", "b"], "when": "FAILURE" });
        assert_eq!(note(&task(&needs)), "Failed · after a, b; if one of them failed");
        let kept = json!({ "needs": ["a"], "kept": true, "state": "SUCCEEDED" });
        assert_eq!(note(&task(&kept)), "Succeeded, kept from the earlier run · needs a");
    }
}
