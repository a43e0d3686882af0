//! The current figures, and the sums of the range.

use leptos::prelude::*;

use crate::{
    components::figure,
    model::{Metrics, RunStats},
    route::Route,
    time::duration,
};

/// The lists of the objects that the sums count.
pub(super) struct Links {
    pub(super) ended: String,
    pub(super) succeeded: String,
    pub(super) failed: String,
    pub(super) lost: String,
}

/// The sums of the range.
pub(super) fn sums(stats: &RunStats, links: Links) -> AnyView {
    let sum = |of: fn(&crate::model::StatPoint) -> i64| stats.points.iter().map(of).sum::<i64>();
    let succeeded = sum(|point| point.succeeded);
    let failed = sum(|point| point.failed + point.timed_out);
    let ended = succeeded + failed + sum(|point| point.cancelled);
    let lost = sum(|point| point.missed + point.abandoned);
    let note = |words: &str| words.to_owned();
    let rate = share(succeeded, ended);
    view! {
        <dl class="figures figures-4">
            {figure("Ended", count(ended), "", note("in the range"), Some(links.ended))}
            {figure("Succeeded", rate, if failed == 0 && ended > 0 { "succeeded" } else { "" }, format!("{succeeded} of {ended}"), Some(links.succeeded))}
            {figure("Failed", count(failed), if failed > 0 { "failed" } else { "" }, note("failed or timed out"), Some(links.failed))}
            {figure("Lost fires", count(lost), if lost > 0 { "missed" } else { "" }, note("missed or given up"), Some(links.lost))}
        </dl>
    }
    .into_any()
}

/// The queues and the last hour.
pub(super) fn now(metrics: &Metrics) -> AnyView {
    let waits = metrics.oldest_unclaimed_ms.map_or_else(
        || "nothing is waiting to be claimed".to_owned(),
        |millis| format!("the oldest has waited for {}", duration(millis)),
    );
    let p95 = |of: Option<crate::model::Percentiles>| {
        of.map_or_else(|| "–".to_owned(), |percentiles| duration(percentiles.p95))
    };
    let live = Route::Runs.narrowed(&[("state", "live")]);
    // A stuck fire may have been due long ago, so the link covers a week.
    let open = Route::Ledger.narrowed(&[("verdict", "open"), ("range", "7d")]);
    let queue = Route::Runs.narrowed(&[("q", "state:queued,retrying")]);
    let jobs = match metrics.waiting_jobs {
        0 => "no job waits for a worker".to_owned(),
        1 => "and 1 job without a worker".to_owned(),
        jobs => format!("and {} jobs without a worker", count(jobs)),
    };
    let rate = metrics.failed_executions_rate.map_or_else(
        || "none ended in the last hour".to_owned(),
        |rate| format!("{:.1} % of them failed", rate * 100.0),
    );
    let per_minute = format!("{:.1}", metrics.executions_per_minute);
    view! {
        <dl class="figures" aria-label="Now">
            {figure("Live runs", count(metrics.live_runs), if metrics.live_runs > 0 { "running" } else { "" }, "right now".to_owned(), Some(live))}
            {figure("Queue", count(metrics.waiting_runs), if metrics.waiting_runs > 0 { "queued" } else { "" }, jobs, Some(queue))}
            {figure("Fires to hand over", count(metrics.pending_handoffs), if metrics.pending_handoffs > 0 { "queued" } else { "" }, waits, Some(open))}
            {figure("Runs a minute", per_minute, "", rate, None)}
            {figure("p95 duration", p95(metrics.durations), "", "in the last hour".to_owned(), None)}
            {figure("p95 lateness", p95(metrics.latenesses), "", "in the last hour".to_owned(), None)}
        </dl>
    }
    .into_any()
}

fn count(count: i64) -> String {
    crate::time::grouped(count)
}

/// A share in percent. It is never 100 while anything is missing.
fn share(part: i64, whole: i64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = part * 1_000 / whole;
    match tenths {
        1_000 => "100 %".to_owned(),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_is_whole_only_when_nothing_is_missing() {
        let shares = [share(0, 0), share(3, 3), share(9_999, 10_000), share(1, 3)];
        assert_eq!(shares, ["–", "100 %", "99.9 %", "33.3 %"]);
    }
}
