//! The overview: what will happen, what is happening, what happened, what went wrong.
//!
//! The numbers come from one query, which is asked again when events say that something has changed, at most once a
//! second; the runs are a list that events merge into.
//!
//! - `health`: the verdict on the server, and what it looks at
//! - `numbers`: the row of figures
//! - `upcoming`: the next fires on a line and in a list
//! - `activity`: the latest runs
//! - `failures`: what ended badly
//! - `nodes`: the server processes

mod activity;
mod failures;
mod health;
mod nodes;
mod numbers;
mod upcoming;

use leptos::prelude::*;

use crate::{
    api::{self, use_load, use_run_feed, use_schedule_feed},
    components::{AsyncView, Panel},
    model::Overview as House,
    route::Route,
    state::{Rows, use_session, use_title},
};

/// Runs shown on the overview.
const RUNS: i64 = 12;

/// The overview.
#[component]
pub(crate) fn Overview() -> impl IntoView {
    use_title(|| "Overview".to_owned());
    let session = use_session();
    let house = use_load(|| Some(api::overview()));
    let latest = use_load(|| Some(api::runs(api::RunQuery::default(), RUNS)));
    let rows = Rows::new();
    Effect::new(move |_| {
        if let Some(page) = latest.data.get() {
            rows.set(page.rows);
        }
    });
    use_run_feed(
        None,
        None,
        move |events| {
            rows.merge(events, RUNS as usize, |_| true);
            house.refresh();
        },
        move || {
            latest.reload();
            house.reload();
        },
    );
    use_schedule_feed(None, move |_| house.refresh(), move || house.reload());
    view! {
        <header class="page-head">
            <h1>"Overview"</h1>
            <Show when=move || session.edits()>
                <a class="button button-primary" href=Route::NewSchedule.path()>"New schedule"</a>
            </Show>
        </header>
        <AsyncView load=house what="the overview" let:house>
            <health::HealthLine health=part(house, |house| house.health.clone())/>
            <numbers::Numbers house=house/>
            <div class="overview-grid">
                <div class="overview-main">
                    <Panel title="Latest runs" aside=|| view! { <a href=Route::Runs.path()>"All runs"</a> }>
                        <activity::Activity load=latest rows=rows/>
                    </Panel>
                    <Panel title="Failures" aside=|| view! { <span class="muted">"last 24 h"</span> }>
                        <failures::Failures runs=part(house, |house| house.failures.clone())/>
                    </Panel>
                </div>
                <div class="overview-side">
                    <Panel title="Next fires">
                        <upcoming::UpcomingFires fires=part(house, |house| house.upcoming.clone())/>
                    </Panel>
                    <Panel title="Health">
                        <health::Checks health=part(house, |house| house.health.clone())/>
                    </Panel>
                    <Panel title="Nodes">
                        <nodes::Nodes nodes=part(house, |house| house.nodes.clone())/>
                    </Panel>
                </div>
            </div>
        </AsyncView>
    }
}

/// A part of the house that only speaks when it has changed itself.
fn part<T: Clone + PartialEq + Send + Sync + 'static>(
    house: Signal<House>,
    take: impl Fn(&House) -> T + Send + Sync + 'static,
) -> Signal<T> {
    Memo::new(move |_| house.with(&take)).into()
}
