use std::time::{Duration, Instant};

use crate::engine::signals::{SignalKind, SignalKinds};

/// Minimum time between two calls that wake the same service.
/// Wake-ups in between are combined into one call.
const GAP: Duration = Duration::from_millis(200);

/// Decides when to send which wake-up to the other nodes.
#[derive(Debug, Default)]
pub(super) struct RelayPace {
    waiting: SignalKinds,
    last: [Option<Instant>; SignalKind::ALL.len()],
}

impl RelayPace {
    /// Adds wake-ups to send.
    pub(super) fn add(&mut self, kinds: SignalKinds) {
        self.waiting = self.waiting.with(kinds);
    }

    /// Whether there is nothing to send.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the wake-ups that are due at `now`. They count as sent.
    pub(super) fn take(&mut self, now: Instant) -> SignalKinds {
        let mut due = SignalKinds::default();
        for kind in self.waiting.iter().filter(|kind| self.left(*kind, now).is_zero()) {
            due = due.with(SignalKinds::of(kind));
        }
        for kind in due.iter() {
            self.last[kind as usize] = Some(now);
        }
        self.waiting = self.waiting.without(due);
        due
    }

    /// Takes all remaining wake-ups, when the relay ends.
    pub(super) fn take_all(&mut self) -> SignalKinds {
        std::mem::take(&mut self.waiting)
    }

    /// The time until a wake-up is due; `None` if there is nothing to send.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.waiting.iter().map(|kind| self.left(kind, now)).min()
    }

    fn left(&self, kind: SignalKind, now: Instant) -> Duration {
        let last = self.last[kind as usize];
        last.map_or(Duration::ZERO, |last| GAP.saturating_sub(now.saturating_duration_since(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn told(pace: &mut RelayPace, clock: &ManualClock) -> Vec<SignalKind> {
        pace.take(clock.clock().instant()).iter().collect()
    }

    #[test]
    fn the_first_call_goes_at_once_and_the_next_ones_in_one() {
        let clock = ManualClock::new(chrono::DateTime::UNIX_EPOCH);
        let mut pace = RelayPace::default();
        pace.add(SignalKinds::of(SignalKind::Dispatcher));
        assert_eq!(told(&mut pace, &clock), [SignalKind::Dispatcher]);
        for _ in 0..100 {
            clock.pass(MILLISECOND);
            pace.add(SignalKinds::of(SignalKind::Dispatcher));
            assert_eq!(told(&mut pace, &clock), []);
        }
        let wait = pace.wait(clock.clock().instant()).unwrap();
        assert_eq!(wait, Duration::from_millis(100));
        clock.pass(wait);
        assert_eq!(told(&mut pace, &clock), [SignalKind::Dispatcher]);
        assert_eq!(pace.wait(clock.clock().instant()), None);
    }

    #[test]
    fn a_busy_kind_delays_no_other() {
        let clock = ManualClock::new(chrono::DateTime::UNIX_EPOCH);
        let mut pace = RelayPace::default();
        pace.add(SignalKinds::of(SignalKind::Followers));
        assert_eq!(told(&mut pace, &clock), [SignalKind::Followers]);
        clock.pass(MILLISECOND);
        pace.add(
            SignalKinds::of(SignalKind::Followers).with(SignalKinds::of(SignalKind::Canceller)),
        );
        assert_eq!(told(&mut pace, &clock), [SignalKind::Canceller]);
        assert!(!pace.is_idle());
    }

    #[test]
    fn a_node_that_does_much_calls_five_times_a_second() {
        let clock = ManualClock::new(chrono::DateTime::UNIX_EPOCH);
        let mut pace = RelayPace::default();
        let mut calls = 0;
        for _ in 0..1_000 {
            clock.pass(MILLISECOND);
            pace.add(
                SignalKinds::of(SignalKind::Planner).with(SignalKinds::of(SignalKind::Followers)),
            );
            calls += usize::from(!told(&mut pace, &clock).is_empty());
        }
        assert_eq!(calls, 5);
    }
}
