//! Nodes that left or died within the last day.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, heading, panel, table, when_relative},
    model::Member,
};

/// The nodes that are gone; empty if there are none.
pub(super) fn gone(nodes: &[Member]) -> AnyView {
    let rows: Vec<_> = nodes.iter().filter(|node| !node.is_here()).map(row).collect();
    if rows.is_empty() {
        return ().into_any();
    }
    let headings = vec![
        heading("Node", ""),
        heading("State", ""),
        heading("Last seen", ""),
        heading("Since", "wide"),
        heading("Version", "wide"),
    ];
    let note = view! { <span class="muted">"last 24 h"</span> };
    panel("Gone", note, table("Nodes that have gone", "table", headings, rows.into_any()))
}

fn row(node: &Member) -> AnyView {
    let mark = Mark::Node(node.state);
    let life = format!("start {} under this name", node.incarnation);
    view! {
        <tr data-testid="gone-row" data-state=mark.state()>
            <th scope="row" class="name-cell"><span title=life>{node.name.clone()}</span></th>
            <td>{badge(mark)}</td>
            <td>{when_relative(node.heartbeat_at, None)}</td>
            <td class="wide">{when_relative(node.started_at, None)}</td>
            <td class="wide">{node.version.clone()}</td>
        </tr>
    }
    .into_any()
}
