//! Durations, days and instants in a search.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};

/// A duration in whole milliseconds, up to a hundred years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchSpan(i64);

/// A hundred years.
const MAX: i64 = 36_525 * 24 * 60 * 60 * 1_000;

impl SearchSpan {
    /// A span of this many milliseconds, if it is within the limit.
    pub fn from_millis(millis: i64) -> Option<Self> {
        (0..=MAX).contains(&millis).then_some(Self(millis))
    }

    /// The span in milliseconds.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Parses a text like `1h30m`, in the notation of [`timetable::duration`].
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::from_millis(i64::try_from(timetable::duration::millis(text)?).ok()?)
    }
}

impl std::fmt::Display for SearchSpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        timetable::duration::write(self.0.unsigned_abs(), f)
    }
}

/// A day, such as 2026-01-31.
pub(super) fn day(text: &str) -> Option<NaiveDate> {
    // The year must have four digits, because other notations of a day would be ambiguous.
    let day = (text.len() == 10).then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok())??;
    within(day.and_time(chrono::NaiveTime::MIN).and_utc()).map(|at| at.date_naive())
}

/// An instant: the beginning of a day, or RFC 3339; in UTC without an offset.
pub(super) fn instant(text: &str) -> Option<DateTime<Utc>> {
    if let Some(day) = day(text) {
        return Some(day.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return within(at.to_utc());
    }
    let formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"];
    let found = formats.iter().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok());
    within(found?.and_utc())
}

/// The instant in whole milliseconds, like all instants of the ledger; `None` outside the years
/// 1970 to 9999.
fn within(at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let most = NaiveDate::from_ymd_opt(9999, 12, 31)?;
    let at = DateTime::from_timestamp_millis(at.timestamp_millis())?;
    let is_in = at.timestamp_millis() >= 0 && at.date_naive() <= most;
    is_in.then_some(at).filter(|at| at.checked_add_signed(TimeDelta::days(1)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_units() {
        for (text, millis) in [
            ("0s", Some(0)),
            ("500ms", Some(500)),
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("2w", Some(1_209_600_000)),
            ("", None),
            ("5", None),
            ("h", None),
            ("1y", None),
            ("-1h", None),
            ("1.5h", Some(5_400_000)),
            ("0.5ms", None),
            ("99999999999999999999d", None),
            ("40000d", None),
        ] {
            assert_eq!(SearchSpan::parse(text).map(SearchSpan::millis), millis, "{text}");
        }
        assert_eq!(SearchSpan::parse("1w36h61s").unwrap().to_string(), "8d12h1m1s");
    }

    #[test]
    fn instants_are_days_or_in_rfc_3339() {
        for (text, written) in [
            ("2026-01-31", Some("2026-01-31T00:00:00+00:00")),
            ("2026-01-31T12:30", Some("2026-01-31T12:30:00+00:00")),
            ("2026-01-31T12:30:00+02:00", Some("2026-01-31T10:30:00+00:00")),
            ("2026-02-30", None),
            ("1960-01-01", None),
            ("26-01-31", None),
            ("tomorrow", None),
        ] {
            assert_eq!(instant(text).map(|at| at.to_rfc3339()).as_deref(), written, "{text}");
        }
    }
}
