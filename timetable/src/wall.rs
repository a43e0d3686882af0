use chrono::{DateTime, FixedOffset, NaiveDateTime, Utc};

use crate::zone::Zone;

/// What the wall clock of a zone shows at an instant, and how far it is ahead of UTC then; none
/// for an unknown zone.
pub fn wall_clock(zone: &str, at: DateTime<Utc>) -> Option<(NaiveDateTime, FixedOffset)> {
    let span = Zone::named(zone).ok()?.span_at(at.timestamp());
    let offset = FixedOffset::east_opt(i32::try_from(span.offset).ok()?)?;
    Some((at.with_timezone(&offset).naive_local(), offset))
}
