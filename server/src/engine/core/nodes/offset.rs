//! How far this node's clock is from the database's, on which all nodes agree.
//! The offset is measured at each heartbeat. Between two heartbeats, a step makes the clock diverge
//! from the monotonic one, so a node notices the step without a query.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{clock::Clock, store::claims::MAX_OFFSET_MS};

/// Both clocks, read at about the same moment, and the bounds of how far
/// the wall clock was ahead of the database's.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct ClockReading {
    wall: DateTime<Utc>,
    monotonic: Instant,
    low: TimeDelta,
    high: TimeDelta,
}

/// Both clocks are read in whole milliseconds.
const ROUNDING: TimeDelta = TimeDelta::milliseconds(1);

/// While a clock is slewed, two clocks drift apart by at most one part in this many.
const DRIFT: i32 = 1_000;

impl ClockReading {
    /// The reading from a query that was sent at `asked` by the wall clock and has just been
    /// answered. The database read its clock at some moment in between.
    pub(in crate::engine) fn of(
        clock: &Clock,
        asked: DateTime<Utc>,
        database: DateTime<Utc>,
    ) -> Self {
        let (wall, monotonic) = (clock.wall(), clock.instant());
        let (low, high) = bounds(asked, database, wall);
        Self { wall, monotonic, low, high }
    }

    /// This reading, narrowed by the bounds of an earlier one.
    /// If the two contradict each other, a clock was stepped, and the earlier reading is obsolete.
    pub(crate) fn narrowed_by(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let passed = passed(earlier.monotonic, self.monotonic);
        let shift = (self.wall - earlier.wall) - passed;
        let slack = ROUNDING * 2 + passed / DRIFT;
        let low = self.low.max(earlier.low + shift - slack);
        let high = self.high.min(earlier.high + shift + slack);
        if low <= high { Self { low, high, ..self } } else { self }
    }

    /// The offset closest to zero that the bounds permit.
    /// So a slow answer does not make a clock wrong.
    pub(in crate::engine) fn offset(&self) -> TimeDelta {
        TimeDelta::zero().clamp(self.low, self.high)
    }

    /// How far the wall clock is probably ahead at the given moment.
    pub(in crate::engine) fn estimate(&self, wall: DateTime<Utc>, monotonic: Instant) -> TimeDelta {
        self.offset() + ((wall - self.wall) - passed(self.monotonic, monotonic))
    }

    /// The correction that replaces `current`.
    /// It stays unchanged unless the reading contradicts it.
    pub(crate) fn correction(&self, current: TimeDelta) -> TimeDelta {
        let is_within = self.low - ROUNDING <= current && current <= self.high + ROUNDING;
        if is_within { current } else { current.clamp(self.low, self.high) }
    }
}

fn passed(from: Instant, to: Instant) -> TimeDelta {
    TimeDelta::from_std(to.saturating_duration_since(from)).unwrap_or(TimeDelta::MAX)
}

/// The bounds of the offset if the database read its clock between `asked` and `answered`.
fn bounds(
    asked: DateTime<Utc>,
    database: DateTime<Utc>,
    answered: DateTime<Utc>,
) -> (TimeDelta, TimeDelta) {
    (asked.min(answered) - database, answered.max(asked) - database)
}

/// Whether a node whose clock is off by this much may schedule.
pub(crate) fn is_right(offset: TimeDelta) -> bool {
    offset.num_milliseconds().abs() <= MAX_OFFSET_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn read(asked: i64, database: i64, answered: i64) -> ClockReading {
        let clock = ManualClock::new(at(answered));
        ClockReading::of(&clock.clock(), at(asked), at(database))
    }

    #[test]
    fn a_slow_answer_is_no_wrong_clock() {
        assert_eq!(read(0, 9, 10).offset(), TimeDelta::zero());
        assert_eq!(read(0, 1, 10).offset(), TimeDelta::zero());
        assert_eq!(read(0, -7, 1).offset(), TimeDelta::seconds(7));
        assert_eq!(read(0, 21, 1).offset(), TimeDelta::seconds(-20));
    }

    #[test]
    fn a_slow_answer_does_not_undo_a_correction() {
        let clock = ManualClock::new(at(4));
        let quick = ClockReading::of(&clock.clock(), at(4), at(0));
        let ms = TimeDelta::milliseconds;
        assert_eq!(quick.correction(TimeDelta::zero()), ms(4_000));
        assert_eq!(quick.correction(ms(4_001)), ms(4_001), "what is rounded contradicts nothing");
        clock.pass(std::time::Duration::from_secs(10));
        let slow = ClockReading::of(&clock.clock(), at(4), at(9)).narrowed_by(Some(quick));
        assert_eq!(slow.correction(ms(4_000)), ms(4_000));
        assert!(slow.offset() >= ms(3_980), "{slow:?}");
        // An operator has corrected the clock, so the earlier reading is obsolete.
        clock.set(at(10));
        let right = ClockReading::of(&clock.clock(), at(10), at(10)).narrowed_by(Some(slow));
        assert_eq!((right.offset(), right.correction(ms(4_000))), (TimeDelta::zero(), ms(0)));
    }

    #[test]
    fn a_step_is_seen_without_asking() {
        let clock = ManualClock::new(at(0));
        let reading = ClockReading::of(&clock.clock(), at(0), at(0));
        let estimate = || reading.estimate(clock.now(), clock.clock().instant());
        clock.pass(std::time::Duration::from_secs(60));
        assert_eq!(estimate(), TimeDelta::zero());
        clock.set(at(60 + 3_600));
        assert_eq!(estimate(), TimeDelta::hours(1));
        clock.set(at(60 - 3_600));
        assert_eq!(estimate(), TimeDelta::hours(-1));
        assert!(!is_right(estimate()) && is_right(TimeDelta::seconds(5)));
    }
}
