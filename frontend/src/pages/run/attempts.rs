//! The attempts of all tasks, or of the selected one.

use leptos::prelude::*;

use super::log::plain;
use crate::{
    components::{Chosen, Mark, badge, heading, json_view, table, when},
    model::{Attempt, RunDetail},
    time::duration,
};

/// The table of attempts. The output of an attempt is shown below the table.
pub(super) fn attempts(run: &RunDetail, chosen: &Chosen) -> AnyView {
    let (task, number) = chosen;
    let all =
        run.more.tasks.iter().flat_map(|known| {
            known.attempts.iter().map(move |attempt| (known.name.as_str(), attempt))
        });
    let mut shown: Vec<_> = all
        .filter(|(name, _)| task.is_empty() || task == name)
        .filter(|(_, attempt)| number.is_none_or(|number| attempt.attempt == number))
        .collect();
    shown.sort_by_key(|(_, attempt)| attempt.started_at);
    if shown.is_empty() {
        return view! { <p class="empty">"Not started yet."</p> }.into_any();
    }
    let headings = vec![
        heading("State", ""),
        heading("Task", ""),
        heading("No.", "number"),
        heading("Started", ""),
        heading("Took", "number"),
        heading("Ended with", ""),
        heading("Node", "wide"),
        heading("Result", ""),
    ];
    let rows = shown.into_iter().map(|(task, attempt)| row(task, attempt, run.row.zone()));
    table("Attempts", "table", headings, rows.collect::<Vec<_>>().into_any())
}

fn row(task: &str, attempt: &Attempt, zone: Option<String>) -> AnyView {
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
            <th scope="row">{task.to_owned()}</th>
            <td class="number">{attempt.attempt}</td>
            <td>{when(attempt.started_at, zone)}</td>
            <td class="number">{attempt.duration_ms.map_or_else(|| "–".to_owned(), duration)}</td>
            <td class="code nowrap">{attempt.code().unwrap_or_else(|| "–".to_owned())}</td>
            <td class="wide">{attempt.node.clone()}</td>
            <td class="why-cell">{attempt.error.as_deref().map(plain)}{output}</td>
        </tr>
    }
    .into_any()
}
