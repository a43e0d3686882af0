//! Nodes that are present.

use leptos::prelude::*;

use super::{drain::Drains, problems::problems};
use crate::{
    components::{Glyph, Mark, badge, heading, icon, silent_heading, table, when_relative},
    model::Member,
    route::{Route, Scope},
    state::{use_now, use_session},
    time::{distance, duration},
};

/// From this offset on, a clock is shown in colour. A node whose clock is off by more than five
/// seconds claims nothing.
const FAR_MS: i64 = 1_000;
/// The total number of shards.
pub(super) const SHARDS: i64 = 256;
const COLUMNS: u8 = 10;

/// The table of the nodes, with a row for each.
pub(super) fn members(nodes: &[Member], drains: Drains) -> AnyView {
    let headings = vec![
        heading("Node", ""),
        heading("State", ""),
        heading("Roles", "wide"),
        heading("Runs", "number"),
        heading("Claims", "wide"),
        heading("Cluster services", "wide"),
        heading("Seen", "number"),
        heading("Clock", "number wide"),
        heading("Version", "wide"),
        silent_heading("Actions"),
    ];
    let here = nodes.iter().filter(|node| node.is_here());
    let rows: Vec<_> = here
        .map(|node| view! { {row(node, nodes, drains)}{note(node, nodes)} }.into_any())
        .collect();
    table("Present nodes", "table", headings, rows.into_any())
}

fn row(node: &Member, nodes: &[Member], drains: Drains) -> AnyView {
    let mark = Mark::Node(node.state);
    let since = format!(
        "start {} under this name, since {}",
        node.incarnation,
        node.started_at.to_rfc3339()
    );
    let version = format!("zone data {}", node.zone_data);
    view! {
        <tr data-testid="node-row" data-state=mark.state()>
            <th scope="row" class="name-cell">
                <span title=since>{node.name.clone()}</span>
                {words(&node.tags)}
            </th>
            <td>{badge(mark)}{drained(node)}</td>
            <td class="wide">{node.roles.join(", ")}</td>
            <td class="number">{runs(node)}</td>
            <td class="wide">{shards(node)}</td>
            <td class="wide">{leases(node)}</td>
            <td class="number">{seen(node)}</td>
            <td class="number wide">{clock(node.clock_offset_ms)}</td>
            <td class="wide"><span title=version>{node.version.clone()}</span></td>
            <td class="actions-cell"><div class="row-actions">{drains.button(node, nodes)}</div></td>
        </tr>
    }
    .into_any()
}

/// Who drained the node, when and why.
fn drained(node: &Member) -> AnyView {
    let Some(drain) = &node.drain else { return ().into_any() };
    let words = format!("by {}: {}", drain.by, drain.reason);
    view! { <span class="cell-note">{words}" "{when_relative(drain.at, None)}</span> }.into_any()
}

/// A second row under the node's row, because sentences need the whole width.
fn note(node: &Member, nodes: &[Member]) -> AnyView {
    let problems = problems(node, nodes);
    if problems.is_empty() {
        return ().into_any();
    }
    let line = |words: String| view! { <li>{icon(Glyph::Alert)}<span>{words}</span></li> };
    let name = format!("What is wrong with {}", node.name);
    view! {
        <tr class="row-note" data-testid="node-problems">
            <td colspan=COLUMNS>
                <ul class="warnings" aria-label=name>
                    {problems.into_iter().map(line).collect::<Vec<_>>()}
                </ul>
            </td>
        </tr>
    }
    .into_any()
}

fn words(tags: &[String]) -> AnyView {
    if tags.is_empty() {
        return ().into_any();
    }
    let tag = |tag: &String| view! { <span class="tag">{tag.clone()}</span> }.into_any();
    view! { <span class="tags">{tags.iter().map(tag).collect::<Vec<_>>()}</span> }.into_any()
}

/// The slots that the node uses, with a link to its live runs if there are any.
fn runs(node: &Member) -> AnyView {
    let used = meter(node.runs, node.capacity, "slots used");
    if node.runs == 0 {
        return used;
    }
    let terms = format!("node:\"{}\"", node.name.replace(['"', '\\'], ""));
    let scope = untrack(|| use_session().health_of()).map_or(Scope::All, Scope::One);
    let href = Route::Runs.narrowed_in(&scope, &[("state", "live"), ("q", &terms)]);
    let words = format!(" live runs of {}", node.name);
    view! { <a href=href>{used}<span class="visually-hidden">{words}</span></a> }.into_any()
}

/// A share of a total, in numbers and as a bar.
pub(super) fn meter(part: i64, whole: i64, what: &'static str) -> AnyView {
    let name = format!("{part} of {whole} {what}");
    view! {
        <span class="meter" title=name>
            <span>{format!("{part}/{whole}")}</span>
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="meter-ground" x="0" y="0" width="100" height="4"/>
                <rect class="meter-part" x="0" y="0" width=share(part, whole) height="4"/>
            </svg>
        </span>
    }
    .into_any()
}

fn share(part: i64, whole: i64) -> i64 {
    if whole <= 0 { 0 } else { (part * 100 / whole).clamp(0, 100) }
}

/// The share of the schedules whose due fires the node claims.
fn shards(node: &Member) -> AnyView {
    if node.first_shards == 0 && node.second_shards == 0 {
        return view! { <span class="muted">"–"</span> }.into_any();
    }
    let title = format!(
        "first owner of {} of {SHARDS} shards, second owner of {}",
        node.first_shards, node.second_shards
    );
    let percent = share(node.first_shards, SHARDS);
    view! { <span title=title>{format!("{percent} % of schedules")}</span> }.into_any()
}

fn leases(node: &Member) -> AnyView {
    if node.leases.is_empty() {
        return view! { <span class="muted">"–"</span> }.into_any();
    }
    let names: Vec<&str> = node.leases.iter().map(|lease| &*lease.name).collect();
    let epochs: Vec<String> =
        node.leases.iter().map(|lease| format!("{}: epoch {}", lease.name, lease.epoch)).collect();
    view! { <span title=epochs.join("\n")>{names.join(", ")}</span> }.into_any()
}

/// The time since the last heartbeat. This browser's clock counts it, so that it continues between
/// two answers.
fn seen(node: &Member) -> AnyView {
    let (now, beat) = (use_now(), node.heartbeat_at);
    let seen = move || distance(beat.since(now.get()).min(0));
    view! { <span class="muted">{move || seen()}</span> }.into_any()
}

fn clock(offset: i64) -> AnyView {
    let words = match offset {
        0 => "exact".to_owned(),
        ahead if ahead > 0 => format!("{} ahead", duration(ahead)),
        behind => format!("{} behind", duration(-behind)),
    };
    let state = (offset.abs() >= FAR_MS).then(|| Mark::Healthy(false).state());
    view! { <span class="clock-offset" data-state=state title="against the database's clock">{words}</span> }
        .into_any()
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_lies_between_nothing_and_all() {
        assert_eq!([share(0, 0), share(1, 3), share(9, 3)], [0, 33, 100]);
    }
}
