//! The row of figures.

use leptos::prelude::*;

use crate::{components::figure, model::Overview, route::Route, time::grouped};

/// Live runs, schedules, and the last day by outcome.
pub(super) fn figures(house: &Overview) -> AnyView {
    let runs = |state: &str| Route::Runs.narrowed(&[("state", state)]);
    let ledger = |verdict: &str| Route::Ledger.narrowed(&[("verdict", verdict)]);
    let states = format!("{} active, {} paused", house.active_schedules, house.paused_schedules);
    let (now, day) = (|| "right now".to_owned(), || "last 24 h".to_owned());
    let ended = house.executions;
    let (failed, missed) = (ended.failed + ended.timed_out, ended.missed + ended.abandoned);
    view! {
        <dl class="figures">
            {figure("Live runs", grouped(house.live_runs), lit(house.live_runs, "running"), now(), Some(runs("live")))}
            {figure("Schedules", grouped(house.schedules), "", states, Some(Route::Schedules.path()))}
            {figure("Succeeded", grouped(ended.succeeded), lit(ended.succeeded, "succeeded"), day(), Some(runs("succeeded")))}
            {figure("Failed", grouped(failed), lit(failed, "failed"), day(), Some(runs("failed")))}
            {figure("Skipped", grouped(ended.skipped), lit(ended.skipped, "queued"), day(), Some(ledger("skipped")))}
            {figure("Lost", grouped(missed), lit(missed, "missed"), day(), Some(ledger("missed")))}
        </dl>
    }
    .into_any()
}

/// What there is none of has no colour.
fn lit(count: i64, state: &'static str) -> &'static str {
    if count > 0 { state } else { "" }
}
