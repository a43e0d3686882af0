//! Every attempt at every task.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, heading, json_view, table, when},
    model::{Attempt, RunDetail},
    time::duration,
};

/// The table; attempts that made output show it below.
pub(super) fn attempts(run: &RunDetail) -> AnyView {
    if run.more.task_runs.is_empty() {
        return view! { <p class="empty">"Not started yet."</p> }.into_any();
    }
    let headings = vec![
        heading("State", ""),
        heading("Task", ""),
        heading("No.", "number"),
        heading("Started", ""),
        heading("Took", "number"),
        heading("Node", ""),
        heading("Result", ""),
    ];
    let rows = run.more.task_runs.iter().map(|attempt| row(attempt, run.row.zone()));
    table("Attempts", "table", headings, rows.collect::<Vec<_>>().into_any())
}

fn row(attempt: &Attempt, zone: Option<String>) -> AnyView {
    let output = attempt.output.as_ref().filter(|output| !output.is_null()).map(|output| {
        view! {
            <details class="output">
                <summary>"Output"</summary>
                {json_view(output, "Output of the attempt")}
            </details>
        }
        .into_any()
    });
    view! {
        <tr>
            <td>{badge(Mark::Attempt(attempt.state))}</td>
            <th scope="row">{attempt.task.clone()}</th>
            <td class="number">{attempt.attempt}</td>
            <td>{when(attempt.started_at, zone)}</td>
            <td class="number">{attempt.duration_ms.map_or_else(|| "–".to_owned(), duration)}</td>
            <td>{attempt.node.clone()}</td>
            <td class="why-cell">{attempt.error.clone()}{output}</td>
        </tr>
    }
    .into_any()
}
