//! The upcoming fires of a window, and the effect of the coming clock changes on schedules.

use serde::Deserialize;

use crate::time::Moment;

/// The upcoming fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    pub(crate) is_complete: bool,
    /// The hours of a zone's clock, or of UTC.
    pub(crate) hours: Vec<ForecastHour>,
    /// The number of frequent schedules: those that start at least once a minute, equally often in
    /// each hour.
    pub(crate) frequent_schedules: i64,
    pub(crate) fires: Vec<Upcoming>,
}

impl Forecast {
    /// Whether the user can choose to leave out frequent schedules: there are some, and other
    /// schedules start, too.
    pub(crate) fn has_frequent_and_others(&self) -> bool {
        self.frequent_schedules > 0
            && self.hours.iter().any(|hour| hour.fires > hour.frequent_fires)
    }

    /// How often all frequent schedules start in an hour.
    pub(crate) fn frequent_fires(&self) -> i64 {
        // The first hour is incomplete, so take the maximum.
        self.hours.iter().map(|hour| hour.frequent_fires).max().unwrap_or_default()
    }

    /// The hours with their counts, with or without the frequent schedules.
    pub(crate) fn counted(&self, with_frequent: bool) -> Vec<ForecastHour> {
        if with_frequent {
            return self.hours.clone();
        }
        let others = |hour: &ForecastHour| ForecastHour {
            fires: hour.fires - hour.frequent_fires,
            schedules: hour.schedules - hour.frequent_schedules,
            ..*hour
        };
        self.hours.iter().map(others).collect()
    }

    /// The same, with the work of each hour.
    pub(crate) fn counted_with(&self, work: &[HourWork], with_frequent: bool) -> Vec<ForecastHour> {
        let mut hours = self.counted(with_frequent);
        for hour in &mut hours {
            let of_hour = work.iter().find(|work| work.at == hour.at).map(|work| {
                if with_frequent { work.work_ms } else { work.work_ms - work.frequent_work_ms }
            });
            hour.work_ms = of_hour.unwrap_or_default();
        }
        hours
    }
}

/// An upcoming fire.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Upcoming {
    pub(crate) at: Moment,
    pub(crate) schedule: UpcomingSchedule,
}

/// The schedule that is due.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct UpcomingSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) module: Option<String>,
}

/// One hour.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForecastHour {
    pub(crate) at: Moment,
    pub(crate) fires: i64,
    pub(crate) schedules: i64,
    /// The part of `fires` that comes from frequent schedules.
    pub(crate) frequent_fires: i64,
    pub(crate) frequent_schedules: i64,
    /// The work of the fires, which is loaded on its own; 0 without it.
    #[serde(skip)]
    pub(crate) work_ms: i64,
}

/// How long the runs that start in an hour take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HourWork {
    pub(crate) at: Moment,
    pub(crate) work_ms: i64,
    /// The part of it that comes from frequent schedules.
    pub(crate) frequent_work_ms: i64,
}

/// The coming clock changes that affect schedules.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClockChanges {
    /// Soonest first.
    pub(crate) changes: Vec<ClockChange>,
    /// How many schedules were examined.
    pub(crate) schedules: i64,
    pub(crate) is_complete: bool,
}

/// A change of a zone's clock.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ClockChange {
    pub(crate) zone: String,
    pub(crate) at: Moment,
    /// What the clock would show without the change, with the offset: `2026-03-29T02:00:00+01:00`.
    pub(crate) before: String,
    pub(crate) after: String,
    /// How many schedules it affects, of which `schedules` are the first.
    pub(crate) affected: i64,
    pub(crate) schedules: Vec<ClockChangeEffect>,
}

/// The effect of a clock change on a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClockChangeEffect {
    pub(crate) schedule: ClockSchedule,
    pub(crate) effects: Vec<String>,
    /// The calendar that suppresses the fires at the instant of the change, if any.
    pub(crate) suppressed_by: Option<String>,
}

/// A schedule that a clock change affects.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ClockSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) module: Option<String>,
    pub(crate) timing: ClockTiming,
}

/// The timing of such a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ClockTiming {
    pub(crate) expressions: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(at: i64, fires: i64, frequent_fires: i64) -> ForecastHour {
        let (schedules, frequent_schedules) = (3, i64::from(frequent_fires > 0));
        ForecastHour {
            at: Moment::from_millis(at),
            fires,
            schedules,
            frequent_fires,
            frequent_schedules,
            work_ms: 0,
        }
    }

    fn week(hours: Vec<ForecastHour>, frequent_schedules: i64) -> Forecast {
        Forecast { is_complete: true, hours, frequent_schedules, fires: vec![] }
    }

    #[test]
    fn what_starts_evenly_is_left_out_of_the_counts() {
        let all = week(vec![hour(0, 1_802, 1_800), hour(1, 3_600, 3_600)], 1);
        assert!(all.has_frequent_and_others());
        assert_eq!(all.frequent_fires(), 3_600);
        assert_eq!(all.counted(true), all.hours);
        let counted: Vec<(i64, i64)> =
            all.counted(false).iter().map(|hour| (hour.fires, hour.schedules)).collect();
        assert_eq!(counted, [(2, 2), (0, 2)]);
    }

    #[test]
    fn the_work_of_an_hour_is_counted_like_its_starts() {
        let all = week(vec![hour(0, 61, 60), hour(1, 60, 60)], 1);
        let at = Moment::from_millis(0);
        let work = [HourWork { at, work_ms: 90, frequent_work_ms: 30 }];
        let counted = |with: bool| {
            let hours = all.counted_with(&work, with);
            hours.iter().map(|hour| (hour.fires, hour.work_ms)).collect::<Vec<_>>()
        };
        assert_eq!(counted(true), [(61, 90), (60, 0)]);
        assert_eq!(counted(false), [(1, 60), (0, 0)]);
    }

    #[test]
    fn nothing_is_left_out_if_nothing_else_starts_or_nothing_is_frequent() {
        assert!(!week(vec![hour(0, 60, 60)], 1).has_frequent_and_others());
        assert!(!week(vec![hour(0, 5, 0)], 0).has_frequent_and_others());
    }
}
