//! The overview: what will happen, what is happening, what happened, what went wrong.
//!
//! The numbers come from one query, which is asked again when events say that something has changed, at most once a
//! second, and twice a minute when none does: a node that beats makes no event. The runs are a list that events merge into.
//!
//! - `health`: the verdict on the server, and what it looks at
//! - `numbers`: the row of figures
//! - `upcoming`: the next fires on a line and in a list
//! - `failures`: what ended badly
//! - `nodes`: the server processes

mod failures;
pub(super) mod health;
mod nodes;
mod numbers;
mod upcoming;

use std::time::Duration;

use leptos::prelude::*;

use crate::{
    api::{self, RunQuery},
    components::{AsyncView, live, panel, run_table},
    data::{Feed, use_feed, use_listing, use_load},
    route::Route,
    state::{use_address, use_every, use_session, use_title},
};

/// Runs shown on the overview.
const RUNS: usize = 12;
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// The overview.
#[component]
pub(crate) fn Overview() -> impl IntoView {
    use_title(|| "Overview".to_owned());
    let (session, address) = (use_session(), use_address());
    let namespace = move || address.namespace();
    let answer = use_load(move || Some(api::overview(namespace())));
    let latest = use_listing(RUNS, move || {
        api::runs(RunQuery { namespace: namespace(), ..RunQuery::default() }, RUNS)
    });
    let (numbers, runs) = (answer.loading, latest.load.loading);
    use_feed(
        Feed::runs(None, None),
        move |events| {
            let changed = events.into_iter().map(|event| event.run).collect();
            latest.merge(changed, true, |_| true);
            numbers.refresh();
        },
        move || {
            runs.reload();
            numbers.reload();
        },
    );
    use_feed(Feed::schedules(None), move |_| numbers.refresh(), move || numbers.reload());
    use_every(HALF_A_MINUTE, move || numbers.refresh());
    let activity = move || {
        view! {
            <AsyncView
                loading=runs
                what="runs"
                is_empty=Signal::derive(move || latest.list.is_empty())
                empty=|| view! {
                    <p class="empty-title">"Nothing has run yet"</p>
                    <p>"Runs appear here by themselves when a schedule fires."</p>
                }
            >
                {run_table(latest.list, "Latest runs", true)}
            </AsyncView>
        }
    };
    view! {
        <header class="page-head">
            <h1>"Overview"</h1>
            {live(move || if session.edits() { new_schedule() } else { ().into_any() })}
        </header>
        <AsyncView loading=numbers what="the overview">
            {answer.draw(|answer| health::line(&answer.health))}
            {answer.draw(|answer| numbers::figures(&answer.overview))}
            <div class="overview-grid">
                <div class="overview-main">
                    {panel("Latest runs", view! { <a href=Route::Runs.path()>"All runs"</a> }, activity())}
                    {panel(
                        "Failures",
                        view! { <span class="muted">"last 24 h"</span> },
                        answer.draw(|answer| failures::failures(&answer.overview.failures)),
                    )}
                </div>
                <div class="overview-side">
                    {panel("Next fires", (), answer.draw(|answer| upcoming::upcoming(&answer.overview.upcoming)))}
                    {panel("Health", (), answer.draw(|answer| health::checks(&answer.health)))}
                    {panel("Nodes", view! { <a href=Route::Cluster.path()>"Cluster"</a> }, answer.draw(|answer| nodes::nodes(&answer.overview.nodes)))}
                </div>
            </div>
        </AsyncView>
    }
}

/// The way to the form.
pub(super) fn new_schedule() -> AnyView {
    view! { <a class="button button-primary" href=Route::NewSchedule.path()>"New schedule"</a> }
        .into_any()
}
