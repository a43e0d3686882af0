//! How far this node's clock is from the database's, on which all nodes agree. It is measured at
//! each heartbeat; between two of them a clock that is stepped parts from the monotonic one, so a
//! node need not ask to become suspicious.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{clock::Clock, store::claims::MOST_OFFSET_MS};

/// Both clocks, read at one moment, and how far the wall clock was ahead of the database's then.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Reading {
    wall: DateTime<Utc>,
    monotonic: Instant,
    offset: TimeDelta,
}

impl Reading {
    /// What the answer to a question says that was asked at `asked` and has just come: the
    /// database read its clock at some moment between.
    pub(in crate::engine) fn of(
        clock: &Clock,
        asked: DateTime<Utc>,
        database: DateTime<Utc>,
    ) -> Self {
        let (wall, monotonic) = (clock.now(), clock.instant());
        Self { wall, monotonic, offset: offset(asked, database, wall) }
    }

    /// How far the wall clock was ahead.
    pub(in crate::engine) fn offset(&self) -> TimeDelta {
        self.offset
    }

    /// How far it seems to be ahead now.
    pub(in crate::engine) fn estimate(&self, wall: DateTime<Utc>, monotonic: Instant) -> TimeDelta {
        let passed = monotonic.saturating_duration_since(self.monotonic);
        let passed = TimeDelta::from_std(passed).unwrap_or(TimeDelta::MAX);
        self.offset + ((wall - self.wall) - passed)
    }
}

/// The least that the clock here can be away, if the database read its own between `asked` and
/// `answered`: a slow answer is no wrong clock.
fn offset(asked: DateTime<Utc>, database: DateTime<Utc>, answered: DateTime<Utc>) -> TimeDelta {
    let (low, high) = (asked.min(answered) - database, answered.max(asked) - database);
    TimeDelta::zero().clamp(low, high)
}

/// Whether a node with that clock may schedule.
pub(super) fn is_right(offset: TimeDelta) -> bool {
    offset.num_milliseconds().abs() <= MOST_OFFSET_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_slow_answer_is_no_wrong_clock() {
        assert_eq!(offset(at(0), at(9), at(10)), TimeDelta::zero());
        assert_eq!(offset(at(0), at(1), at(10)), TimeDelta::zero());
        assert_eq!(offset(at(0), at(-7), at(1)), TimeDelta::seconds(7));
        assert_eq!(offset(at(0), at(21), at(1)), TimeDelta::seconds(-20));
    }

    #[test]
    fn a_step_is_seen_without_asking() {
        let clock = ManualClock::new(at(0));
        let reading = Reading::of(&clock.clock(), at(0), at(0));
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
