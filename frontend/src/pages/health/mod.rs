//! Health: the findings with advice, every check, and the cluster.
//!
//! - `verdict`: the health in one line, also on other pages
//! - `findings`: the current problems
//! - `checks`: every health check
//! - `budgets`: the budgets of tags

mod budgets;
mod checks;
mod findings;
pub(super) mod verdict;

use std::time::Duration;

use leptos::prelude::*;

use self::verdict::verdict;
use crate::{
    api,
    components::{AsyncView, cluster_strip, panel},
    data::{Feed, use_feed, use_load},
    state::{use_every, use_session, use_title},
};

/// How often the page reloads without events: if no heartbeat can be written, there are no events.
const IN_ANY_CASE: Duration = Duration::from_secs(10);

/// The page about the server's health.
#[component]
pub(crate) fn Health() -> impl IntoView {
    use_title(|| "Health".to_owned());
    let session = use_session();
    let report = use_load(move || Some(api::health(session.health_of())));
    let loading = report.loading;
    use_feed(
        move || Feed::health(session.health_of()),
        move |_| loading.refresh(),
        move || loading.reload(),
    );
    use_every(IN_ANY_CASE, move || loading.refresh());
    view! {
        <header class="page-head"><h1>"Health"</h1></header>
        {verdict(loading, move || report.with(|report| report.health.row.clone()))}
        <AsyncView loading=loading what="the health">
            {report.draw(|report| cluster_strip(&report.nodes))}
            <div class="run-grid">
                <div class="run-main">
                    {panel("What is wrong", (), report.draw(|report| findings::findings(&report.health.more.findings)))}
                    {panel("Checks", (), report.draw(move |report| checks::checks(&report.health.row, session.health_of().as_deref())))}
                </div>
                <div class="run-side">
                    {panel("This server", (), report.draw(|report| checks::made_of(&report.health.row)))}
                </div>
            </div>
        </AsyncView>
        {budgets::budgets()}
    }
}
