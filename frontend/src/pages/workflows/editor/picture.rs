//! The graph of the tasks beside the form. Selecting a task in it shows the task's fields.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::components::{DagNode, dag, live, panel, use_dag_view};

/// The graph of the draft.
pub(super) fn picture(draft: Draft, errors: Errors) -> AnyView {
    let look = use_dag_view();
    let nodes = Memo::new(move |_| nodes(draft, errors));
    let chosen = Memo::new(move |_| {
        let key = draft.chosen.get()?;
        draft.task(key).map(|task| shown(&task.name()).to_owned())
    });
    let choose = Callback::new(move |name: String| {
        let found = untrack(|| draft.nodes()).into_iter().find(|node| shown(&node.name) == name);
        if let Some(node) = found {
            draft.chosen.set(Some(node.key));
            super::cards::show(node.key);
        }
    });
    let drawing = move || {
        let nodes = nodes.get();
        if nodes.is_empty() {
            return view! { <p class="muted">"No task yet."</p> }.into_any();
        }
        dag(&nodes, &chosen.get().unwrap_or_default(), choose, look)
    };
    panel("Graph", (), live(drawing))
}

fn nodes(draft: Draft, errors: Errors) -> Vec<DagNode> {
    let tasks = draft.tasks.get();
    let node = |(task, node): (&super::draft::TaskDraft, super::graph::Node)| {
        let is_wrong = errors.has(task.key);
        let kind = task.fields.kind.with(|kind| kind_word(kind));
        DagNode {
            name: shown(&node.name).to_owned(),
            state: if is_wrong { "failed" } else { "" },
            word: if is_wrong { "Needs mending" } else { kind }.to_owned(),
            needs: node.needs.iter().map(|name| shown(name).to_owned()).collect(),
        }
    };
    tasks.iter().zip(draft.nodes()).map(node).collect()
}

/// The name to show, even for a task that has none yet.
pub(super) fn shown(name: &str) -> &str {
    if name.is_empty() { "without a name" } else { name }
}

/// The name of a kind of target, for where space is short.
pub(super) fn kind_word(kind: &str) -> &'static str {
    match kind {
        "http" => "HTTP request",
        "publish" => "Event",
        "worker" => "Job",
        "noop" => "Rehearsal",
        _ => "Command",
    }
}
