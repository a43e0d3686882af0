//! Fires that were skipped for load: a run of the schedule was still live, its buffer was full, the
//! start deadline had passed, or the namespace had used up its quota. Fires that a calendar, a
//! pause or a user suppressed are not among them.

/// The condition that a row of `fire` was skipped for load. The index on such fires is used only if
/// this is worded exactly like its condition.
pub const SKIPPED_FOR_LOAD: &str = "fire.verdict = 'skipped' \
    AND fire.reason IN ('overlap', 'deadline', 'quota', 'buffer_full')";

/// How long no fire must have been skipped before a fire that starts counts as a recovery, in
/// milliseconds. A schedule that skips every other fire does not recover with each one that starts.
pub const CALM_MS: i64 = 3_600_000;

/// Maximum number of started fires that are searched for a recovery since long ago.
const MAX_STARTED: i64 = 10_000;

/// The condition that a schedule of the table `v` has recovered since `v.last_at`: [`resuming`]
/// finds a fire, or the schedule has started `MAX_STARTED` fires, which are too many to search.
pub(in crate::store) fn has_resumed_since() -> String {
    format!(
        "(SELECT count(*) FROM (SELECT 1 FROM fire s WHERE s.schedule_id = v.schedule_id \
            AND s.scheduled_at > v.last_at + {CALM_MS} AND s.verdict = 'started' \
            LIMIT {MAX_STARTED}) started) = {MAX_STARTED} OR EXISTS ({})",
        resuming("1")
    )
}

/// The first fire by which a schedule of the table `v` starts its fires again, as a query of its
/// columns `what`: it was due more than an hour after `v.last_at`, it started, and no fire was
/// skipped for load in the hour before it. `v.schedule_id` is the schedule.
pub(in crate::store) fn resuming(what: &str) -> String {
    format!(
        "SELECT {what} FROM fire s WHERE s.schedule_id = v.schedule_id \
           AND s.scheduled_at > v.last_at + {CALM_MS} AND s.verdict = 'started' \
           AND NOT EXISTS (SELECT 1 FROM fire WHERE fire.schedule_id = v.schedule_id \
             AND fire.scheduled_at >= s.scheduled_at - {CALM_MS} \
             AND fire.scheduled_at < s.scheduled_at AND {SKIPPED_FOR_LOAD}) \
         ORDER BY s.scheduled_at LIMIT 1"
    )
}
