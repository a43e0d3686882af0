//! The cluster: which processes share the work, what each of them does, and what is wrong among them.
//!
//! Each heartbeat is an event, and so is whatever happens to a node. The page asks for all of them when it hears one, at
//! most once a second: where one comes or goes, the others' shares change. Where no heartbeat can be written there is no
//! event either, so it asks now and then in any case.
//!
//! - `members`: those that are here, with their work
//! - `workers`: programs that pull tasks, and their queues
//! - `problems`: what is wrong with one of them
//! - `gone`: those that left or died within a day

mod gone;
mod members;
mod problems;
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
    view! {
        <header class="page-head">
            <h1>"Cluster"</h1>
            {fleet.draw(|fleet| summary(fleet))}
        </header>
        {verdict(loading, move || fleet.with(|fleet| fleet.health.clone()))}
        <AsyncView loading=loading what="the nodes">
            <div class="cluster">
                {panel("Nodes", (), fleet.draw(|fleet| members::members(&fleet.nodes)))}
                {fleet.draw(|fleet| gone::gone(&fleet.nodes))}
                {fleet.draw(|fleet| alone(fleet))}
            </div>
        </AsyncView>
        <workers::Workers/>
    }
}

/// How many there are, and how full they are together.
fn summary(fleet: &Fleet) -> AnyView {
    let here = || fleet.nodes.iter().filter(|node| node.is_here());
    let (runs, capacity) =
        here().fold((0, 0), |(runs, capacity), node| (runs + node.runs, capacity + node.capacity));
    let nodes = match here().count() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    view! { <p class="muted">{format!("{nodes}, {runs} of {capacity} places taken")}</p> }
        .into_any()
}

/// What to do for another node, where there is but one.
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
