//! The server processes.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge},
    model::Node,
    state::use_now,
    time::distance,
};

/// Each with its state, its load and its last sign of life.
pub(super) fn nodes(nodes: &[Node]) -> AnyView {
    view! { <ul class="nodes">{nodes.iter().map(row).collect::<Vec<_>>()}</ul> }.into_any()
}

fn row(node: &Node) -> AnyView {
    let (now, beat) = (use_now(), node.heartbeat_at);
    let seen = move || distance(beat.since(now.get()).min(0));
    let since = format!("version {}, since {}", node.version, node.started_at.to_rfc3339());
    view! {
        <li>
            {badge(Mark::Node(node.state))}
            <span class="node-name" title=since>{node.name.clone()}</span>
            <span class="number">{format!("{}/{} runs", node.runs, node.capacity)}</span>
            <span class="muted">"seen "{move || seen()}</span>
        </li>
    }
    .into_any()
}
