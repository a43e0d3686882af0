//! Detects steps of the wall clock without a query: a step makes it diverge
//! from the monotonic clock, which is never set.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::issues::Issue;

/// A wall clock that gains or loses more than this between two checks was stepped, not slewed.
const MIN_STEP: TimeDelta = TimeDelta::milliseconds(200);

/// If a clock is behind its own earlier reading by more than this, fires are noticeably delayed.
const MIN_BEHIND: TimeDelta = TimeDelta::seconds(1);

/// How long a step is reported after it happened.
const TOLD_FOR: Duration = Duration::from_secs(300);

/// The readings of both clocks at the last check.
#[derive(Debug, Default)]
pub(crate) struct ClockSteps {
    last: Option<(DateTime<Utc>, Instant)>,
    /// The latest time at which this node may have fired.
    furthest: Option<DateTime<Utc>>,
    step: Option<(TimeDelta, Instant)>,
}

impl ClockSteps {
    /// Checks the clocks. Returns how far the wall clock was stepped since
    /// the last check; `None` if it was not stepped.
    pub(crate) fn look(&mut self, wall: DateTime<Utc>, monotonic: Instant) -> Option<TimeDelta> {
        let (last_wall, last_monotonic) = self.last.replace((wall, monotonic))?;
        let passed = monotonic.saturating_duration_since(last_monotonic);
        let passed = TimeDelta::from_std(passed).unwrap_or(TimeDelta::MAX);
        let step = (wall - last_wall) - passed;
        if step.abs() < MIN_STEP {
            return None;
        }
        self.step = Some((step, monotonic));
        Some(step)
    }

    /// Records that the node schedules by the time `now`.
    pub(crate) fn goes_by(&mut self, now: DateTime<Utc>) {
        self.furthest = self.furthest.max(Some(now));
    }

    /// The health check on steps. A step is a problem for as long as it matters.
    pub(crate) fn issue(&self, now: DateTime<Utc>, monotonic: Instant) -> Issue {
        const NAME: &str = "clock_steps";
        let Some((step, at)) = self.step else { return Issue::new(NAME, "none", None) };
        let ago = monotonic.saturating_duration_since(at).as_secs();
        let seconds = step.num_milliseconds().unsigned_abs().div_ceil(1_000);
        let direction = if step < TimeDelta::zero() { "back" } else { "forward" };
        let value = format!("{direction} by {seconds} s, {ago} s ago");
        let behind = self.furthest.map_or(TimeDelta::zero(), |furthest| furthest - now);
        if behind > MIN_BEHIND {
            let left = behind.num_seconds();
            let problem = format!(
                "the clock of this node was set back: for another {left} s it shows a time whose \
                 fires are recorded already, so nothing fires; set the clock right if it is wrong"
            );
            return Issue::new(NAME, value, Some(problem));
        }
        if ago >= TOLD_FOR.as_secs() {
            return Issue::new(NAME, "none", None);
        }
        let problem = format!(
            "the clock of this node was set {direction} by {seconds} s, {ago} s ago; fires that \
             fell due by that are late or missed, as their policies say"
        );
        Issue::new(NAME, value, Some(problem)).passing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn a_clock_that_was_set_back_is_wrong_until_it_shows_again_what_it_had_shown() {
        let (start, wall) = (Clock::system().instant(), DateTime::<Utc>::UNIX_EPOCH);
        let mut steps = ClockSteps::default();
        let mut look = |seconds: u64, step: i64| {
            let monotonic = start + Duration::from_secs(seconds);
            let now = wall + TimeDelta::seconds(seconds.cast_signed() + step);
            let stepped = steps.look(now, monotonic);
            if stepped.is_none() {
                steps.goes_by(now);
            }
            (stepped, steps.issue(now, monotonic))
        };
        assert_eq!(look(0, 0).0, None);
        let (stepped, issue) = look(100, 0);
        assert_eq!((stepped, issue.problem), (None, None));

        let (stepped, issue) = look(101, -3_600);
        assert_eq!(stepped, Some(TimeDelta::hours(-1)));
        assert!(issue.problem.unwrap().contains("for another 3599 s") && !issue.passes);
        let (stepped, issue) = look(1_101, -3_600);
        assert!(stepped.is_none() && issue.problem.unwrap().contains("for another 2599 s"));

        let (stepped, issue) = look(1_102, 0);
        assert_eq!(stepped, Some(TimeDelta::hours(1)));
        assert!(issue.problem.unwrap().contains("set forward by 3600 s") && issue.passes);
        assert_eq!(look(1_500, 0).1.problem, None);
    }

    #[test]
    fn a_clock_that_is_slewed_is_not_stepped() {
        let (start, wall) = (Clock::system().instant(), DateTime::<Utc>::UNIX_EPOCH);
        let mut steps = ClockSteps::default();
        for look in 0..1_000 {
            let slewed = TimeDelta::milliseconds(i64::from(look) * 501);
            let stepped = steps.look(wall + slewed, start + Duration::from_millis(500) * look);
            assert_eq!(stepped, None);
        }
    }
}
