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

/// The hour of a zone's clock that contains an instant: its begin, and its end. An hour that a clock
/// change cuts is two: one up to the change and one from the change on, so the clock shows the same
/// hour during all of it. `None` for an unknown zone.
pub fn clock_hour(zone: &str, at: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    const HOUR: i64 = 3_600;
    let at = at.timestamp();
    let span = Zone::named(zone).ok()?.span_at(at);
    let begin = at - (at + span.offset).rem_euclid(HOUR);
    let (begin, end) = (begin.max(span.start), (begin + HOUR).min(span.end));
    Some((DateTime::from_timestamp(begin, 0)?, DateTime::from_timestamp(end, 0)?))
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

    fn hour(zone: &str, at: &str) -> Option<String> {
        let (begin, end) = clock_hour(zone, at.parse().unwrap())?;
        Some(format!("{} {}", begin.format("%FT%H:%MZ"), end.format("%FT%H:%MZ")))
    }

    #[test]
    fn an_hour_begins_when_the_clock_shows_a_whole_hour() {
        for (zone, at, expected) in [
            ("UTC", "2026-11-21T09:15:30.5Z", "2026-11-21T09:00Z 2026-11-21T10:00Z"),
            ("Europe/Berlin", "2026-11-21T09:15:00Z", "2026-11-21T09:00Z 2026-11-21T10:00Z"),
            // +05:30, +05:45 and -03:30.
            ("Asia/Kolkata", "2026-11-21T09:15:00Z", "2026-11-21T08:30Z 2026-11-21T09:30Z"),
            ("Asia/Kolkata", "2026-11-21T09:30:00Z", "2026-11-21T09:30Z 2026-11-21T10:30Z"),
            ("Asia/Kathmandu", "2026-11-21T09:14:59Z", "2026-11-21T08:15Z 2026-11-21T09:15Z"),
            ("America/St_Johns", "2026-11-21T09:15:00Z", "2026-11-21T08:30Z 2026-11-21T09:30Z"),
            // The clock goes from 01:59 (+10:30) to 02:30 (+11:00), and in April from 01:59 back to
            // 01:30.
            ("Australia/Lord_Howe", "2026-10-03T15:29:00Z", "2026-10-03T14:30Z 2026-10-03T15:30Z"),
            ("Australia/Lord_Howe", "2026-10-03T15:30:00Z", "2026-10-03T15:30Z 2026-10-03T16:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T16:00:00Z", "2026-10-03T16:00Z 2026-10-03T17:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T14:59:00Z", "2026-04-04T14:00Z 2026-04-04T15:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z", "2026-04-04T15:00Z 2026-04-04T15:30Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:30:00Z", "2026-04-04T15:30Z 2026-04-04T16:30Z"),
        ] {
            assert_eq!(hour(zone, at).as_deref(), Some(expected), "{zone} {at}");
        }
        assert_eq!(hour("Mars/Base", "2026-11-21T09:15:00Z"), None);
    }

    #[test]
    fn the_hours_of_a_clock_follow_each_other_and_show_one_hour_each() {
        let reading = |zone, at| wall_clock(zone, at).unwrap().0.format("%F %H").to_string();
        for zone in ["Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Kathmandu"] {
            let mut at = DateTime::from_timestamp(1_767_225_600, 0).unwrap();
            for _ in 0..24 * 365 {
                let (begin, end) = clock_hour(zone, at).unwrap();
                let last = end - TimeDelta::seconds(1);
                assert_eq!(clock_hour(zone, last), Some((begin, end)), "{zone} {at}");
                assert_eq!(reading(zone, begin), reading(zone, last), "{zone} {at}");
                assert!(begin <= at && at < end, "{zone} {at}");
                at = end;
            }
        }
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
