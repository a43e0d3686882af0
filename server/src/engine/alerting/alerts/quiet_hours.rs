//! The quiet hours of a rule, in which no message is sent.

use std::sync::Arc;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use timetable::{
    Calendar, CalendarEntries, CalendarMode, Definition, DstPolicy, TimeWindow, Timetable,
    TimingError,
};

/// Quiet hours: local times on the wall clock of a zone.
/// In a night with a clock change, they are longer or shorter by the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietPeriods {
    /// The IANA name of the zone.
    pub zone: String,
    /// The times of the day that are quiet.
    pub windows: Vec<TimeWindow>,
}

impl QuietPeriods {
    /// Whether `now` is in the quiet hours. The calculator that suppresses fires decides this, so
    /// quiet hours mean the same as equal windows of a calendar.
    ///
    /// # Errors
    ///
    /// Fails if the zone or a window is invalid.
    pub fn is_at(&self, now: DateTime<Utc>) -> Result<bool, TimingError> {
        Ok(self.silence(now)?.is_at(now))
    }

    /// The quiet hours compiled for repeated queries.
    pub(super) fn silence(&self, now: DateTime<Utc>) -> Result<Silence, TimingError> {
        let entries =
            CalendarEntries { windows: self.windows.clone(), ..CalendarEntries::default() };
        let calendar = Calendar::new("quiet hours", CalendarMode::Exclude, &entries)?;
        let definition = Definition {
            expressions: vec!["@every 1s".to_owned()],
            zone: self.zone.clone(),
            dst: DstPolicy::default(),
            anchor: now,
            start: None,
            end: None,
            jitter: std::time::Duration::ZERO,
            seed: [0; 16],
        };
        let timetable = Timetable::new(&definition)?.with_calendars([Arc::new(calendar)])?;
        Ok(Silence(timetable))
    }
}

/// Compiled quiet hours on their zone's clock.
#[derive(Debug)]
pub(super) struct Silence(Timetable);

/// No quiet period is longer than this, because windows are weekly.
const LONGEST: TimeDelta = TimeDelta::days(8);

impl Silence {
    fn is_at(&self, at: DateTime<Utc>) -> bool {
        self.0.suppressed_by(at).is_some()
    }

    /// When an alert that becomes ripe at `at` may be sent. Quiet hours end on a full minute.
    pub(super) fn end(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        let (mut end, minute) = (at, TimeDelta::minutes(1));
        while self.is_at(end) && end - at < LONGEST {
            end = end.duration_trunc(minute).unwrap_or(end) + minute;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn night() -> QuietPeriods {
        let (from, to) = ("22:00".to_owned(), "06:00".to_owned());
        let window = TimeWindow { from, to, weekdays: vec![] };
        QuietPeriods { zone: "Europe/Berlin".to_owned(), windows: vec![window] }
    }

    fn is_quiet(at: &str) -> bool {
        night().is_at(at.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_night_ends_at_its_local_time_whatever_the_clock_did() {
        // In winter, 06:00 is 05:00 UTC. In the night of 29 March, the clock goes forward.
        assert!(is_quiet("2026-03-28T04:59:59Z") && !is_quiet("2026-03-28T05:00:00Z"));
        assert!(is_quiet("2026-03-28T21:00:00Z") && is_quiet("2026-03-29T03:59:59Z"));
        assert!(!is_quiet("2026-03-29T04:00:00Z"));
        // In the night of 25 October the clock goes back:
        // 22:00 is 20:00 UTC, and 06:00 is 05:00 UTC.
        assert!(!is_quiet("2026-10-24T19:59:59Z") && is_quiet("2026-10-24T20:00:00Z"));
        assert!(is_quiet("2026-10-25T04:59:59Z") && !is_quiet("2026-10-25T05:00:00Z"));
    }

    #[test]
    fn a_zone_or_a_window_that_there_is_not_is_refused() {
        let nowhere = QuietPeriods { zone: "Europe/Atlantis".to_owned(), ..night() };
        assert_eq!(nowhere.is_at(DateTime::UNIX_EPOCH).unwrap_err().field, "zone");
        let mut odd = night();
        odd.windows[0].to = "25:00".to_owned();
        assert_eq!(odd.is_at(DateTime::UNIX_EPOCH).unwrap_err().field, "windows[0].to");
    }
}
