//! Converts a local date and time to an instant.

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Utc};

/// The instant at which clocks in a zone show `local`: the first one if they show it twice, and the
/// first instant after the gap if they skip it.
pub(super) fn instant<Z: TimeZone>(zone: &Z, local: NaiveDateTime) -> Option<DateTime<Utc>> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Some(at.to_utc()),
        LocalResult::None => after_gap(zone, local),
    }
}

/// The first second after the gap that contains `local`, searched from a day before to a day after.
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
