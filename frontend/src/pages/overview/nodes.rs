//! The server processes.

use leptos::prelude::*;

use crate::{
    components::{Badge, Mark},
    model::Node,
    state::use_now,
    time::distance,
};

/// Each with its state, its load and its last sign of life.
#[component]
pub(super) fn Nodes(nodes: Signal<Vec<Node>>) -> impl IntoView {
    let now = use_now();
    let row = move |node: Node| {
        let beat = move || distance(node.heartbeat_at.since(now.get()).min(0.0));
        let since = format!("version {}, since {}", node.version, node.started_at.to_rfc3339());
        view! {
            <li>
                <Badge mark=Mark::Node(node.state)/>
                <span class="node-name" title=since>{node.name}</span>
                <span class="number">{format!("{}/{} runs", node.runs, node.capacity)}</span>
                <span class="muted">"seen "{beat}</span>
            </li>
        }
    };
    view! {
        <ul class="nodes">
            // A node that beats again is a new row: all of it is small and changes at once.
            <For each=move || nodes.get() key=|node| (node.id.clone(), node.heartbeat_at.millis() as i64, node.runs) children=row/>
        </ul>
    }
}
