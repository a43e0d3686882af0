//! Workflows: tasks that schedules share.
//!
//! - `detail`: one workflow: its tasks, its file, its versions, the schedules that use it
//! - `editor`: the form and the text that create and change a workflow
//! - `changes`: the differences from one version to the next

mod changes;
mod detail;
pub(super) mod editor;

pub(crate) use detail::Workflow;
pub(crate) use editor::{EditWorkflow, NewWorkflow};

use std::time::Duration;

use leptos::prelude::*;

use super::{
    cursors,
    kit::{empty, name_field, named_with, note, place_cell, placed},
    place,
};
use crate::{
    api,
    components::{AsyncView, Heading, PageHead, heading, live, pager, rows, table, when_relative},
    data::use_listing,
    model::Place,
    model::WorkflowRow,
    route::Route,
    state::{use_address, use_every, use_session, use_title},
};

const SIZE: usize = 100;
const LOOK: Duration = Duration::from_secs(10);

/// The list of workflows.
#[component]
pub(crate) fn Workflows() -> impl IntoView {
    use_title(|| "Workflows".to_owned());
    let address = use_address();
    let workflows = use_listing(SIZE, move || {
        let text = named_with(address);
        api::planning::workflow_list(address.namespace(), text, place(address), SIZE)
    });
    let loading = workflows.load.loading;
    use_every(LOOK, move || loading.refresh());
    let session = use_session();
    let new_button = live(move || {
        if !session.edits() {
            return ().into_any();
        }
        view! { <a class="button button-primary" href=Route::NewWorkflow.path()>"New workflow"</a> }
            .into_any()
    });
    let nothing = move || {
        if named_with(address).is_empty() {
            let words = "A schedule with an inline task has its own workflow. Workflows that several schedules share \
                         are created here, or declared by modules.";
            empty("No workflow yet", words)
        } else {
            empty("No workflow here", "No name contains this text.")
        }
    };
    let go = move |place: Place| address.go(&address.with(&cursors(&place)));
    view! {
        {PageHead::new("Workflows").actions(new_button).view()}
        {name_field(address, "Which workflows")}
        <AsyncView
            loading=loading
            what="workflows"
            is_empty=Signal::derive(move || workflows.list.is_empty())
            empty=nothing
        >
            {table("Workflows", "table", placed(headings(), 1), rows(workflows.list, line))}
            {pager(workflows.beside(), "workflows", go)}
        </AsyncView>
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Workflow", ""),
        heading("Tasks", ""),
        heading("Version", "number wide"),
        heading("Changed", ""),
    ]
}

fn line(row: &WorkflowRow) -> AnyView {
    let href = Route::Workflow(row.id.clone()).path_at(&row.namespace);
    let module = row.module.as_ref().map(|module| note(format!("declared by {module}")));
    let names: Vec<&str> = row.tasks.iter().take(6).map(|task| task.name.as_str()).collect();
    let more = row.tasks.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    view! {
        <tr data-testid="workflow-row">
            <th scope="row" class="name-cell"><a href=href>{row.name.clone()}</a>{module}</th>
            {place_cell(&row.namespace)}
            <td>{format!("{}{more}", names.join(", "))}</td>
            <td class="number wide">{row.version}</td>
            <td>{when_relative(row.updated_at, None)}</td>
        </tr>
    }
    .into_any()
}
