use chrono::{DateTime, TimeDelta, Utc};
use timetable::{Fire, Timetable};

/// Maximum number of fires in a backfill's window.
pub const MAX: u64 = 10_000;

/// A range from one instant (inclusive) to another (exclusive), in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant of the window.
    pub from: DateTime<Utc>,
    /// The first instant after the window.
    pub to: DateTime<Utc>,
}

/// The error for a window that contains more fires than a backfill may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Number of fires in the window.
    pub count: u64,
    /// An end of the window that leaves as many fires as are permitted.
    pub end: DateTime<Utc>,
}

impl Window {
    /// The window from `from` to `to`.
    /// Fires are at whole milliseconds, so finer bounds are rounded up.
    pub fn new(from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        Self { from: ceil(from), to: ceil(to) }
    }

    /// The timing's fires in the window. If there are too many, they are only counted, not listed.
    pub fn fires(self, timetable: &Timetable) -> Result<Vec<Fire>, TooMany> {
        let millisecond = TimeDelta::milliseconds(1);
        let (after, until) = (self.from - millisecond, self.to - millisecond);
        let count = timetable.count(after, until);
        if count > MAX {
            let most = usize::try_from(MAX).unwrap_or(usize::MAX);
            let first_too_many = timetable.fires(after, until).nth(most);
            return Err(TooMany { count, end: first_too_many.map_or(self.from, |fire| fire.at) });
        }
        Ok(timetable.fires(after, until).collect())
    }
}

fn ceil(at: DateTime<Utc>) -> DateTime<Utc> {
    let whole = DateTime::from_timestamp_millis(at.timestamp_millis()).unwrap_or(at);
    if whole < at { whole + TimeDelta::milliseconds(1) } else { whole }
}

#[cfg(test)]
mod tests {
    use timetable::{Definition, DstPolicy};

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn timetable(expression: &str, zone: &str) -> Timetable {
        Timetable::new(&Definition {
            expressions: vec![expression.to_owned()],
            zone: zone.to_owned(),
            dst: DstPolicy::default(),
            anchor: DateTime::UNIX_EPOCH,
            start: None,
            end: None,
            jitter: std::time::Duration::ZERO,
            seed: [0; 16],
        })
        .unwrap()
    }

    fn fires(window: Window, expression: &str) -> Vec<String> {
        let fires = window.fires(&timetable(expression, "UTC")).unwrap();
        fires.iter().map(|fire| fire.at.format("%H:%M").to_string()).collect()
    }

    #[test]
    fn a_window_has_its_first_instant_and_not_its_last() {
        let window = Window::new(at("2026-03-01T10:00:00Z"), at("2026-03-01T12:00:00Z"));
        assert_eq!(fires(window, "0 * * * *"), ["10:00", "11:00"]);
        let window = Window::new(at("2026-03-01T10:00:00.0005Z"), at("2026-03-01T12:00:00.0005Z"));
        assert_eq!(fires(window, "0 * * * *"), ["11:00", "12:00"]);
    }

    #[test]
    fn a_million_fires_are_counted_and_not_listed() {
        let window = Window::new(at("2026-03-01T00:00:00Z"), at("2026-03-13T00:00:00Z"));
        let every_second = timetable("* * * * * *", "UTC");
        let refused = window.fires(&every_second).unwrap_err();
        assert_eq!(refused.count, 12 * 86_400);
        assert_eq!(refused.end, at("2026-03-01T02:46:40Z"));
        let allowed = Window { to: refused.end, ..window }.fires(&every_second).unwrap();
        assert_eq!(allowed.len() as u64, MAX);
    }

    #[test]
    fn a_night_on_which_the_clock_goes_back_has_its_own_fires() {
        let window = Window::new(at("2026-10-24T22:00:00Z"), at("2026-10-25T03:00:00Z"));
        let fires = window.fires(&timetable("*/30 * * * *", "Europe/Berlin")).unwrap();
        assert_eq!(fires.len(), 10);
        let fires = window.fires(&timetable("30 2 * * *", "Europe/Berlin")).unwrap();
        assert_eq!(fires.len(), 1);
    }
}
