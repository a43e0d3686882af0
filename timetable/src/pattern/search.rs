use super::Pattern;
use crate::calendar::DAY;

impl Pattern {
    /// The first matching civil second at or after `civil`.
    pub(crate) fn next(&self, civil: i64) -> Option<i64> {
        let (day, second) = (civil.div_euclid(DAY), civil.rem_euclid(DAY));
        if self.days.matches(day)
            && let Some(second) = self.clock.next(second)
        {
            return Some(day * DAY + second);
        }
        Some(self.days.next(day + 1)? * DAY + self.clock.first())
    }

    /// The last matching civil second at or before `civil`.
    pub(crate) fn previous(&self, civil: i64) -> Option<i64> {
        let (day, second) = (civil.div_euclid(DAY), civil.rem_euclid(DAY));
        if self.days.matches(day)
            && let Some(second) = self.clock.previous(second)
        {
            return Some(day * DAY + second);
        }
        Some(self.days.previous(day - 1)? * DAY + self.clock.last())
    }

    pub(crate) fn matches(&self, civil: i64) -> bool {
        self.days.matches(civil.div_euclid(DAY)) && self.clock.matches(civil.rem_euclid(DAY))
    }

    /// Number of matching civil seconds in `from..to`.
    pub(crate) fn count(&self, from: i64, to: i64) -> u64 {
        if from >= to {
            return 0;
        }
        let (first, last) = (from.div_euclid(DAY), to.div_euclid(DAY));
        let whole = self.days.count(first, last) * self.clock.per_day();
        let before = |day: i64, civil: i64| {
            if self.days.matches(day) { self.clock.before(civil.rem_euclid(DAY)) } else { 0 }
        };
        // Count the whole days from the day of `from`, subtract the part of that day before `from`,
        // and add the part of the last day before `to`.
        whole + before(last, to) - before(first, from)
    }
}
