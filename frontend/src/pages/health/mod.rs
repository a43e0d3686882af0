//! Health: what is wrong and what to do, everything that is looked at, and the cluster.
//!
//! - `verdict`: the verdict in a line, on other pages too
//! - `findings`: what is wrong
//! - `checks`: everything that is looked at

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
    state::{use_every, use_title},
};

/// Where no heartbeat can be written there is no event either.
const IN_ANY_CASE: Duration = Duration::from_secs(10);

/// The page.
#[component]
pub(crate) fn Health() -> impl IntoView {
    use_title(|| "Health".to_owned());
    let report = use_load(|| Some(api::health()));
    let loading = report.loading;
    use_feed(Feed::health, move |_| loading.refresh(), move || loading.reload());
    use_every(IN_ANY_CASE, move || loading.refresh());
    view! {
        <header class="page-head"><h1>"Health"</h1></header>
        {verdict(loading, move || report.with(|report| report.health.row.clone()))}
        <AsyncView loading=loading what="the health">
            {report.draw(|report| cluster_strip(&report.nodes))}
            <div class="run-grid">
                <div class="run-main">
                    {panel("What is wrong", (), report.draw(|report| findings::findings(&report.health.more.findings)))}
                    {panel("Checks", (), report.draw(|report| checks::checks(&report.health.row)))}
                </div>
                <div class="run-side">
                    {panel("This server", (), report.draw(|report| checks::made_of(&report.health.row)))}
                </div>
            </div>
        </AsyncView>
    }
}
