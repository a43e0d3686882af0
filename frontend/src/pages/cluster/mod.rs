//! The cluster: the nodes that share the work, the work of each of them, and their problems.
//!
//! Each heartbeat is an event, and so is every change of a node. On an event the page reloads all nodes, at most once
//! a second, because a node that joins or leaves changes the shares of the others. If no heartbeat can be written,
//! there are no events either, so the page also reloads from time to time.
//!
//! - `members`: the nodes that are present, with their work
//! - `drain`: draining and undraining a node
//! - `shards`: the nodes that claim each shard
//! - `brokers`: the brokers to which the answering node publishes events
//! - `workers`: worker programs, and their queues
//! - `problems`: the problems of a node
//! - `gone`: nodes that left or died within the last day

mod brokers;
mod drain;
mod gone;
mod members;
mod problems;
mod shards;
mod workers;

use std::time::Duration;

use leptos::prelude::*;

use super::health::verdict::verdict;
use crate::{
    api::{self},
    components::{AsyncView, panel},
    data::{Feed, use_feed, use_load},
    model::Fleet,
    state::{use_every, use_session, use_title},
};

const IN_ANY_CASE: Duration = Duration::from_secs(5);

/// The cluster's page.
#[component]
pub(crate) fn Cluster() -> impl IntoView {
    use_title(|| "Cluster".to_owned());
    let session = use_session();
    let fleet = use_load(move || Some(api::cluster(session.health_of())));
    let loading = fleet.loading;
    use_feed(Feed::nodes, move |_| loading.refresh(), move || loading.reload());
    use_every(IN_ANY_CASE, move || loading.refresh());
    let drains = drain::use_drains(loading);
    view! {
        <header class="page-head">
            <h1>"Cluster"</h1>
            {fleet.draw(|fleet| summary(fleet))}
        </header>
        {verdict(loading, move || fleet.with(|fleet| fleet.health.clone()))}
        <AsyncView loading=loading what="the nodes">
            <div class="cluster">
                {panel("Nodes", (), fleet.draw(move |fleet| members::members(&fleet.nodes, drains)))}
                {fleet.draw(|fleet| gone::gone(&fleet.nodes))}
                {fleet.draw(|fleet| alone(fleet))}
                {brokers::brokers()}
                <shards::Shards/>
            </div>
        </AsyncView>
        {drains.dialogs()}
        <workers::Workers/>
    }
}

/// The number of nodes, and their total load.
fn summary(fleet: &Fleet) -> AnyView {
    let here = || fleet.nodes.iter().filter(|node| node.is_here());
    let (runs, capacity) =
        here().fold((0, 0), |(runs, capacity), node| (runs + node.runs, capacity + node.capacity));
    let nodes = match here().count() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    view! { <p class="muted">{format!("{nodes}, {runs} of {capacity} slots used")}</p> }.into_any()
}

/// Instructions for adding another node, if there is only one.
fn alone(fleet: &Fleet) -> AnyView {
    if fleet.nodes.iter().filter(|node| node.is_here()).count() != 1 {
        return ().into_any();
    }
    let words = if fleet.health.database == "SQLite" {
        "SQLite is for one node. On PostgreSQL several share the work, and one takes over from another."
    } else {
        "Start another server with the same database.url: it shares the work, and takes over when this one dies."
    };
    view! { <p class="muted cluster-hint">{words}</p> }.into_any()
}
