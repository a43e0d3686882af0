//! The row of figures.

use leptos::prelude::*;

use crate::{
    components::figure, model::Overview, pages::ledger::LOST_FIRES, route::Route, time::grouped,
};

/// The figures: live runs, schedules, and the last day by outcome.
pub(super) fn figures(overview: &Overview) -> AnyView {
    let live = Route::Runs.narrowed(&[("state", "live")]);
    // The figures count runs by their end, because a run of a backfill is due much earlier.
    let runs = |state: &str| Route::Runs.narrowed(&[("state", state), ("q", "finished:<24h")]);
    let ledger = |term: (&str, &str)| Route::Ledger.narrowed(&[term, ("range", "24h")]);
    let states =
        format!("{} active, {} paused", overview.active_schedules, overview.paused_schedules);
    let (now, day) = (|| "right now".to_owned(), || "last 24 h".to_owned());
    let ended = overview.executions;
    let (failed, missed) = (ended.failed + ended.timed_out, ended.missed + ended.abandoned);
    view! {
        <dl class="figures">
            {figure("Live runs", grouped(overview.live_runs), lit(overview.live_runs, "running"), now(), Some(live))}
            {figure("Schedules", grouped(overview.schedules), "", states, Some(Route::Schedules.path()))}
            {figure("Succeeded", grouped(ended.succeeded), lit(ended.succeeded, "succeeded"), day(), Some(runs("succeeded")))}
            {figure("Failed", grouped(failed), lit(failed, "failed"), day(), Some(runs("failed")))}
            {figure("Skipped", grouped(ended.skipped), lit(ended.skipped, "queued"), day(), Some(ledger(("verdict", "skipped"))))}
            {figure("Lost", grouped(missed), lit(missed, "missed"), day(), Some(ledger(("q", LOST_FIRES))))}
        </dl>
    }
    .into_any()
}

/// The state that colours a figure; a zero has no colour.
fn lit(count: i64, state: &'static str) -> &'static str {
    if count > 0 { state } else { "" }
}
