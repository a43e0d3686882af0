//! Instants and durations as users write them on the command line: one grammar for all flags.
//!
//! | written | means |
//! | --- | --- |
//! | `2h`, `1h30m`, `90s`, `7d` | that long before or after now, depending on the flag |
//! | `2h ago`, `in 2h` | that long before now, after now |
//! | `now` | now |
//! | `14:30`, `02:00:30` | the last or the next such time of day, depending on the flag |
//! | `yesterday`, `today`, `tomorrow` | the beginning of that day |
//! | `yesterday 02:00`, `tomorrow 02:00:30` | that time on that day |
//! | `2026-03-29`, `2026-03-29 02:30` | a local date, a local date and time |
//! | `2026-03-29T01:00:00Z`, `2026-03-29 02:30+01:00` | RFC 3339: an instant with its offset |
//!
//! Case does not matter. Local means in the time zone of this machine (`TZ`), or, for a timing, in
//! the timing's zone (`--tz`). A local time that the clocks skip means the first instant after the
//! gap, and one that occurs twice means the first occurrence, as for schedules.
//!
//! - `parse`: converts text to [`ParsedTime`]
//! - `local`: converts a local date and time to an instant

mod local;
mod parse;

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};

use crate::{clock::Clock, config::Span};

/// The summary of the grammar for help and errors.
const HELP: &str = "write 2h, '2h ago', 'in 2h', 14:30, 'yesterday 02:00', '2026-03-29 02:30' or \
                    2026-03-29T01:00:00Z";

/// The side of now that a flag means, if the text does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Past,
    Future,
}

/// A parsed text, before the current time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParsedTime {
    Now,
    /// A distance from now, on the given side or else on the flag's.
    Away(TimeDelta, Option<Side>),
    /// A time of day, on the nearest day.
    Time(NaiveTime),
    /// A day, as a number of days from today, and a time on it.
    Day(i64, NaiveTime),
    Local(NaiveDate, NaiveTime),
    Instant(DateTime<Utc>),
}

impl ParsedTime {
    /// The instant, for a flag that means this side of now. `None` if it is out of the calendar's
    /// range.
    fn at<Z: TimeZone>(self, now: &DateTime<Z>, side: Side) -> Option<DateTime<Utc>> {
        let zone = now.timezone();
        let there = |local| local::instant(&zone, local);
        self.by(now.to_utc(), now.date_naive(), there, side)
    }

    /// The instant in the zone with this name, for a flag that looks ahead. None if it is out of
    /// the calendar's range or there is no such zone.
    pub(super) fn ahead_in(self, zone: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let (local, _) = timetable::wall_clock(zone, now)?;
        let there = |local| timetable::first_instant(zone, local);
        self.by(now, local.date(), there, Side::Future)
    }

    /// The instant, given the current date and a function from a local time to its instant.
    fn by(
        self,
        now: DateTime<Utc>,
        today: NaiveDate,
        there: impl Fn(NaiveDateTime) -> Option<DateTime<Utc>>,
        side: Side,
    ) -> Option<DateTime<Utc>> {
        let on = |days: i64, time: NaiveTime| {
            let day = today.checked_add_signed(TimeDelta::try_days(days)?)?;
            there(day.and_time(time))
        };
        match self {
            Self::Now => Some(now),
            Self::Away(span, own) => match own.unwrap_or(side) {
                Side::Past => now.checked_sub_signed(span),
                Side::Future => now.checked_add_signed(span),
            },
            Self::Time(time) => {
                let today = on(0, time)?;
                match side {
                    Side::Past if today > now => on(-1, time),
                    Side::Future if today <= now => on(1, time),
                    Side::Past | Side::Future => Some(today),
                }
            }
            Self::Day(days, time) => on(days, time),
            Self::Local(day, time) => there(day.and_time(time)),
            Self::Instant(at) => Some(at),
        }
    }
}

fn read(text: &str, side: Side) -> Result<DateTime<Utc>, String> {
    let now = Clock::system().now().with_timezone(&Local);
    parse::when(text).and_then(|when| when.at(&now, side)).ok_or_else(|| HELP.to_owned())
}

/// An instant for a flag that looks back, such as `--since`.
pub(super) fn past(text: &str) -> Result<DateTime<Utc>, String> {
    read(text, Side::Past)
}

/// An instant for a flag that looks ahead, such as `pause --until`.
pub(super) fn future(text: &str) -> Result<DateTime<Utc>, String> {
    read(text, Side::Future)
}

/// Parses a text whose zone is known only later; see [`ParsedTime::ahead_in`].
pub(super) fn somewhere(text: &str) -> Result<ParsedTime, String> {
    parse::when(text).ok_or_else(|| HELP.to_owned())
}

/// A duration, as for `--expires-in`.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    let help = || "write numbers with units, such as 90s, 1h30m or 7d".to_owned();
    text.trim().to_ascii_lowercase().parse().map_err(|_| help())
}

#[cfg(test)]
mod tests {
    use chrono_tz::{Europe::Berlin, Tz};
    use proptest::prelude::*;

    use super::*;

    /// A Friday in winter, at a quarter past one in the afternoon in Berlin.
    fn now() -> DateTime<Tz> {
        Berlin.with_ymd_and_hms(2026, 11, 27, 13, 15, 0).unwrap()
    }

    fn at(text: &str, side: Side) -> Option<String> {
        let at = parse::when(text)?.at(&now(), side)?;
        Some(at.with_timezone(&Berlin).format("%F %T%z").to_string())
    }

    #[test]
    fn an_explicit_direction_means_the_same_for_every_flag() {
        for (text, expected) in [
            ("now", "2026-11-27 13:15:00+0100"),
            ("2h ago", "2026-11-27 11:15:00+0100"),
            ("in 2h", "2026-11-27 15:15:00+0100"),
            ("IN 1H30M", "2026-11-27 14:45:00+0100"),
            ("1d 2h ago", "2026-11-26 11:15:00+0100"),
            ("today", "2026-11-27 00:00:00+0100"),
            ("yesterday", "2026-11-26 00:00:00+0100"),
            ("Yesterday 02:00", "2026-11-26 02:00:00+0100"),
            ("tomorrow  02:00:30", "2026-11-28 02:00:30+0100"),
            ("2026-07-01", "2026-07-01 00:00:00+0200"),
            ("2026-07-01 9:05", "2026-07-01 09:05:00+0200"),
            ("2026-07-01T09:05:30", "2026-07-01 09:05:30+0200"),
            ("2026-07-01T09:05:30Z", "2026-07-01 11:05:30+0200"),
            ("2026-07-01t09:05:30z", "2026-07-01 11:05:30+0200"),
            ("2026-07-01 09:05:30+02:00", "2026-07-01 09:05:30+0200"),
            ("2026-07-01T09:05:30.250+02:00", "2026-07-01 09:05:30+0200"),
        ] {
            for side in [Side::Past, Side::Future] {
                assert_eq!(at(text, side).as_deref(), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn without_a_direction_the_flag_decides() {
        for (text, past, future) in [
            ("2h", "2026-11-27 11:15:00+0100", "2026-11-27 15:15:00+0100"),
            ("14:30", "2026-11-26 14:30:00+0100", "2026-11-27 14:30:00+0100"),
            ("02:00", "2026-11-27 02:00:00+0100", "2026-11-28 02:00:00+0100"),
            ("13:15", "2026-11-27 13:15:00+0100", "2026-11-28 13:15:00+0100"),
        ] {
            assert_eq!(at(text, Side::Past).as_deref(), Some(past), "{text}");
            assert_eq!(at(text, Side::Future).as_deref(), Some(future), "{text}");
        }
    }

    #[test]
    fn a_time_that_the_clocks_skip_is_after_the_gap_and_one_that_comes_twice_the_first() {
        let gap = at("2026-03-29 02:30", Side::Past);
        assert_eq!(gap.as_deref(), Some("2026-03-29 03:00:00+0200"));
        let twice = at("2026-10-25 02:30", Side::Past);
        assert_eq!(twice.as_deref(), Some("2026-10-25 02:30:00+0200"));
    }

    #[test]
    fn other_texts_are_no_instants() {
        for text in [
            "",
            " ",
            "soon",
            "2",
            "-2h",
            "2h from now",
            "in",
            "ago",
            "in 2h ago",
            "24:00",
            "12:60",
            "12",
            "tomorrow 2",
            "in tomorrow",
            "2026-02-30",
            "2026-13-01",
            "2026-07-01 25:00",
            "99999999999999d ago",
            "now 12:00",
            "yesterday 02:00 ago",
            "\u{661}2:00",
        ] {
            assert_eq!(at(text, Side::Past), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_in_any_case() {
        assert_eq!(duration(" 1H30M ").map(|span| span.to_string()), Ok("1h30m".to_owned()));
        assert!(duration("soon").is_err());
    }

    #[test]
    fn a_zone_by_its_name_means_the_same_as_that_of_the_machine() {
        for text in [
            "now",
            "in 2h",
            "1h30m",
            "14:30",
            "02:00",
            "yesterday 02:00",
            "2026-07-01",
            "2026-03-29 02:30",
            "2026-10-25 02:30",
            "2026-07-01T09:05:30Z",
        ] {
            let when = parse::when(text).unwrap();
            let expected = when.at(&now(), Side::Future);
            assert_eq!(when.ahead_in("Europe/Berlin", now().to_utc()), expected, "{text}");
        }
        let local = parse::when("2026-07-01 12:00").unwrap();
        let there = |zone| local.ahead_in(zone, now().to_utc()).map(|at| at.to_rfc3339());
        assert_eq!(there("Asia/Tokyo").unwrap(), "2026-07-01T03:00:00+00:00");
        assert_eq!(there("Mars/Base"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,40}") {
            let _ = at(&text, Side::Past);
        }

        #[test]
        fn an_instant_is_read_as_it_is_written(seconds in 0_i64..4_000_000_000) {
            let written = DateTime::from_timestamp(seconds, 0).unwrap();
            for text in [written.to_rfc3339(), written.with_timezone(&Berlin).to_rfc3339()] {
                let read = parse::when(&text).and_then(|when| when.at(&now(), Side::Past));
                prop_assert_eq!(read, Some(written));
            }
        }

        #[test]
        fn a_local_time_is_read_in_its_zone(seconds in 0_i64..2_000_000_000) {
            let written = Berlin.timestamp_opt(seconds, 0).unwrap();
            let text = written.format("%Y-%m-%d %H:%M:%S").to_string();
            let read = parse::when(&text).and_then(|when| when.at(&now(), Side::Past)).unwrap();
            // Both texts mean the same instant; if it occurs twice, the first occurrence.
            let shown = read.with_timezone(&Berlin).format("%Y-%m-%d %H:%M:%S").to_string();
            prop_assert_eq!(shown, text);
            prop_assert!(read <= written.to_utc());
        }

        #[test]
        fn case_and_spaces_do_not_matter(text in "(in |)[1-9][0-9]?[hms]( ago|)") {
            let loud = text.to_uppercase().replace(' ', "   ");
            prop_assert_eq!(at(&text, Side::Past), at(&format!(" {loud} "), Side::Past));
        }

        #[test]
        fn a_time_of_day_is_less_than_a_day_or_so_away(hour in 0..24, minute in 0..60) {
            let when = parse::when(&format!("{hour:02}:{minute:02}")).unwrap();
            let past = when.at(&now(), Side::Past).unwrap();
            let future = when.at(&now(), Side::Future).unwrap();
            prop_assert!(past <= now().to_utc() && now().to_utc() < future);
            prop_assert!(future - past <= TimeDelta::hours(25));
        }
    }
}
