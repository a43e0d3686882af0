use chrono::{DateTime, FixedOffset, NaiveDateTime, TimeDelta, Utc};

use crate::zone::Zone;

/// The wall-clock time of a zone at an instant, and the clock's offset from UTC
/// at that instant; `None` for an unknown zone.
pub fn wall_clock(zone: &str, at: DateTime<Utc>) -> Option<(NaiveDateTime, FixedOffset)> {
    let span = Zone::named(zone).ok()?.span_at(at.timestamp());
    let offset = FixedOffset::east_opt(i32::try_from(span.offset).ok()?)?;
    Some((at.with_timezone(&offset).naive_local(), offset))
}

/// The instant at which a zone's clock shows a local time. If the clock shows it twice,
/// this is the first instant; if it never does, this is the first instant after the gap.
/// `None` for an unknown zone, and for a time at the end of the calendar.
pub fn first_instant(zone: &str, local: NaiveDateTime) -> Option<DateTime<Utc>> {
    let zone = Zone::named(zone).ok()?;
    // No clock is further than two days from UTC.
    let before = local.checked_sub_signed(TimeDelta::days(2))?.and_utc().timestamp();
    let mut span = zone.span_at(before);
    loop {
        let at = local.checked_sub_signed(TimeDelta::try_seconds(span.offset)?)?.and_utc();
        if at.timestamp() < span.start {
            return DateTime::from_timestamp(span.start, 0);
        }
        if at.timestamp() < span.end {
            return Some(at);
        }
        span = zone.span_at(span.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(zone: &str, local: &str) -> Option<String> {
        let at = first_instant(zone, local.parse().unwrap())?;
        Some(at.format("%FT%T%.fZ").to_string())
    }

    #[test]
    fn a_local_time_is_found_on_every_side_of_a_clock_change() {
        for (zone, local, expected) in [
            ("UTC", "2026-03-29T02:30:00", "2026-03-29T02:30:00Z"),
            ("Europe/Berlin", "2026-03-29T01:59:59.5", "2026-03-29T00:59:59.500Z"),
            ("Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-03-29T03:00:00", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
            ("Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
            ("Pacific/Apia", "2011-12-30T12:00:00", "2011-12-30T10:00:00Z"),
            ("Europe/Berlin", "2150-07-01T12:00:00", "2150-07-01T10:00:00Z"),
        ] {
            assert_eq!(first(zone, local).as_deref(), Some(expected), "{zone} {local}");
        }
        assert_eq!(first("Mars/Base", "2026-03-29T02:30:00"), None);
    }

    #[test]
    fn what_a_clock_shows_is_found_again() {
        for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"] {
            for hour in 0..24 * 365 {
                let at = DateTime::from_timestamp(1_767_225_600 + hour * 3_600, 0).unwrap();
                let (local, _) = wall_clock(zone, at).unwrap();
                let found = first_instant(zone, local).unwrap();
                assert!(found <= at && at - found <= TimeDelta::hours(1), "{zone} {at} {found}");
                assert_eq!(wall_clock(zone, found).unwrap().0, local, "{zone}");
            }
        }
    }
}
