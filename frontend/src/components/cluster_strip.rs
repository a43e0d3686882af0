//! The server processes as a strip of tiles, each with its load.

use leptos::prelude::*;

use super::{Mark, badge};
use crate::{model::Node, route::Route, state::use_now, time::distance};

/// The strip of tiles, with the nodes that are present first.
pub(crate) fn cluster_strip(nodes: &[Node]) -> AnyView {
    let tiles: Vec<_> = nodes.iter().map(tile).collect();
    view! {
        <section class="strip" aria-label="Cluster">
            <ul>{tiles}</ul>
        </section>
    }
    .into_any()
}

fn tile(node: &Node) -> AnyView {
    let (now, beat) = (use_now(), node.heartbeat_at);
    let seen = move || distance(beat.since(now.get()).min(0));
    let since = format!("version {}, since {}", node.version, node.started_at.to_rfc3339());
    let full = node.runs * 100 / node.capacity.max(1);
    view! {
        <li title=since data-testid="node-tile">
            {badge(Mark::Node(node.state))}
            <a class="node-name" href=Route::Cluster.path()>{node.name.clone()}</a>
            <span class="number">{format!("{}/{} runs", node.runs, node.capacity)}</span>
            <svg class="strip-load" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="meter-ground" x="0" y="0" width="100" height="4"/>
                <rect class="meter-part" x="0" y="0" width=full.min(100) height="4"/>
            </svg>
            <span class="muted">"seen "{move || seen()}</span>
        </li>
    }
    .into_any()
}
