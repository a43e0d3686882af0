//! The tasks of a run of several: where each stands, and what it waits for.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, heading, panel, table},
    model::{RunDetail, RunTask, TaskCondition},
};

/// The panel; a run of one task has none, as its attempts say it all.
pub(super) fn tasks(run: &RunDetail) -> AnyView {
    let tasks = &run.more.tasks;
    if tasks.len() < 2 {
        return ().into_any();
    }
    let headings = vec![heading("State", ""), heading("Task", ""), heading("Needs", "")];
    let rows = tasks.iter().map(row).collect::<Vec<_>>().into_any();
    let done = tasks.iter().filter(|task| task.state.is_over()).count();
    let aside = format!("{done} of {} over", tasks.len());
    panel("Tasks", aside, table("Tasks", "table", headings, rows))
}

fn row(task: &RunTask) -> AnyView {
    let kept = task
        .kept
        .then(|| view! { <span class="cell-note">"kept from the earlier run"</span> }.into_any());
    view! {
        <tr data-testid="task-row">
            <td>{badge(Mark::Task(task.state))}</td>
            <th scope="row">{task.name.clone()}{kept}</th>
            <td>{needs(task)}</td>
        </tr>
    }
    .into_any()
}

fn needs(task: &RunTask) -> String {
    let names = task.needs.join(", ");
    match (task.needs.is_empty(), task.when) {
        (true, _) => "–".to_owned(),
        (false, TaskCondition::Success) => names,
        (false, TaskCondition::Failure) => format!("{names}; if one of them failed"),
        (false, TaskCondition::Always) => format!("{names}; however they end"),
    }
}
