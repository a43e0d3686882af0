//! A local date and time as an instant.

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Utc};

/// The instant at which the clocks of a zone show `local`: the first one where they do twice, and
/// the first after the gap where they never do.
pub(super) fn instant<Z: TimeZone>(zone: &Z, local: NaiveDateTime) -> Option<DateTime<Utc>> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Some(at.to_utc()),
        LocalResult::None => after_gap(zone, local),
    }
}

/// Between a day before and a day after, the first second at which the clocks are past `local`.
fn after_gap<Z: TimeZone>(zone: &Z, local: NaiveDateTime) -> Option<DateTime<Utc>> {
    let day = TimeDelta::days(2);
    let mut before = local.checked_sub_signed(day)?.and_utc().timestamp();
    let mut after = local.checked_add_signed(day)?.and_utc().timestamp();
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        let shown = zone.timestamp_opt(middle, 0).single()?.naive_local();
        if shown < local {
            before = middle;
        } else {
            after = middle;
        }
    }
    DateTime::from_timestamp(after, 0)
}
