use chrono::{DateTime, FixedOffset, NaiveDateTime, Utc};

use crate::zone::Zone;

/// The wall-clock time of a zone at an instant, and the clock's offset from UTC then; `None` for an
/// unknown zone.
pub fn wall_clock(zone: &str, at: DateTime<Utc>) -> Option<(NaiveDateTime, FixedOffset)> {
    let span = Zone::named(zone).ok()?.span_at(at.timestamp());
    let offset = FixedOffset::east_opt(i32::try_from(span.offset).ok()?)?;
    Some((at.with_timezone(&offset).naive_local(), offset))
}
