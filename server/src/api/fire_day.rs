//! How often a schedule fires on each of the coming days.

use async_graphql::SimpleObject;
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use timetable::{Timetable, first_instant, wall_clock};

use super::scalar::{Instant, Long};

/// Maximum number of days.
pub(super) const MAX_DAYS: i32 = 366;
/// The cost of counting the fires of a day.
pub(super) const COST: usize = 20;
/// Maximum number of stretches between boundaries of calendars in all days together.
const MAX_STEPS: usize = 20_000;
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// How often a schedule fires on one day of its zone.
#[derive(Debug, PartialEq, SimpleObject)]
pub(crate) struct FireDay {
    /// The date in the schedule's zone, as in 2026-03-29
    date: String,
    /// The first instant of the day.
    from: Instant,
    /// The end of the day, exclusive. On the day of a clock change it is not 24 hours after `from`.
    until: Instant,
    /// How many fires the day has that no calendar suppresses.
    fires: Long,
    /// How many of its fires calendars suppress.
    suppressed: Long,
    /// The name of the calendar that suppresses the first of them; null if there are none.
    suppressed_by: Option<String>,
}

/// The fires that are counted.
pub(super) struct Coming<'a> {
    pub(super) timetable: &'a Timetable,
    /// The zone whose days are counted.
    pub(super) zone: &'a str,
    /// Only fires after this instant count.
    pub(super) after: DateTime<Utc>,
    /// How many more fires the schedule may start; None if there is no limit.
    pub(super) left: Option<i64>,
}

impl Coming<'_> {
    /// The next `count` days, beginning with the day of `now`. Fewer, if calendars have too many
    /// boundaries.
    pub(super) fn days(self, now: DateTime<Utc>, count: u64) -> Vec<FireDay> {
        let Some((local, _)) = wall_clock(self.zone, now) else { return vec![] };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut left = self.left.map_or(u64::MAX, |left| u64::try_from(left).unwrap_or_default());
        let mut steps = 0;
        let mut days = Vec::with_capacity(count);
        for date in local.date().iter_days().take(count) {
            if steps > MAX_STEPS {
                break;
            }
            let Some(day) = self.day(date, &mut left, &mut steps) else { break };
            days.push(day);
        }
        days
    }

    /// Counts the fires of a day; None at the end of the calendar.
    fn day(&self, date: NaiveDate, left: &mut u64, steps: &mut usize) -> Option<FireDay> {
        let from = self.midnight(date)?;
        let until = self.midnight(date.succ_opt()?)?;
        let (mut fires, mut suppressed, mut suppressed_by) = (0_u64, 0_u64, None);
        let after = self.after.max(from - MOMENT);
        let mut seen = 0;
        for piece in self.timetable.pieces(after, until - MOMENT) {
            if *left == 0 {
                break;
            }
            seen = piece.steps;
            match piece.suppressed_by {
                Some(calendar) => {
                    suppressed += piece.count;
                    suppressed_by.get_or_insert_with(|| calendar.to_string());
                }
                None => {
                    let started = piece.count.min(*left);
                    fires += started;
                    *left -= started;
                }
            }
        }
        *steps += seen;
        Some(FireDay {
            date: date.to_string(),
            from: from.into(),
            until: until.into(),
            fires: fires.into(),
            suppressed: suppressed.into(),
            suppressed_by,
        })
    }

    /// The first instant of a date in the zone.
    fn midnight(&self, date: NaiveDate) -> Option<DateTime<Utc>> {
        first_instant(self.zone, date.and_time(NaiveTime::MIN))
    }
}
