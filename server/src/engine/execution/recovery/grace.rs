//! Decides when recovery spares other nodes because this node was cut off itself.
//! Computed without IO.

use std::time::{Duration, Instant};

/// After an outage longer than the expiry, even the heartbeats of live nodes are stale.
/// The first node to recover would declare all others dead before their next heartbeat,
/// and work that they had done but not written yet would be repeated. So if recovery's own rounds
/// show that this node was cut off, it gives the other nodes time to send a heartbeat.
///
/// Only failed or slow rounds show this. A long time since the last round does not: if this machine
/// was suspended or its clock was stepped, the other nodes could still send their heartbeats.
#[derive(Debug)]
pub(super) struct Grace {
    /// How long a grace period lasts.
    span: Duration,
    /// A round that takes longer than this had to wait for the database.
    longest: Duration,
    last: LastRound,
    began: Instant,
    /// When the last grace period ended, or will end.
    until: Option<Instant>,
}

/// The result of the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastRound {
    Well,
    Slow,
    Failed,
}

impl Grace {
    pub(super) fn new(span: Duration, longest: Duration, now: Instant) -> Self {
        Self { span, longest, last: LastRound::Well, began: now, until: None }
    }

    /// Records that a round begins.
    pub(super) fn round_begins(&mut self, now: Instant) {
        self.began = now;
    }

    /// Records that the round has reached the database.
    /// A grace period begins only now: one that began during the outage would be over too early.
    pub(super) fn reached(&mut self, now: Instant) {
        let was_away = match self.last {
            LastRound::Well => false,
            LastRound::Slow | LastRound::Failed => true,
        };
        if was_away && self.may_begin_again(now) {
            self.until = Some(now + self.span);
        }
    }

    /// Whether no node may be declared dead in this round.
    pub(super) fn spares(&self, now: Instant) -> bool {
        let is_on = self.until.is_some_and(|until| now < until);
        is_on || self.is_slow(now) && self.may_begin_again(now)
    }

    /// Records the end of a round. `was_away` means that the round could not reach the database.
    pub(super) fn round_ended(&mut self, now: Instant, was_away: bool) {
        self.last = match (was_away, self.is_slow(now)) {
            (true, _) => LastRound::Failed,
            (false, true) => LastRound::Slow,
            (false, false) => LastRound::Well,
        };
    }

    fn is_slow(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) > self.longest
    }

    /// Whether the next grace period may begin. There must be a gap as long as the period itself,
    /// so that dead nodes are found even if every round is slow or fails. An outage that makes
    /// heartbeats expire lasts twice as long as a grace period, so it outlasts the gap.
    fn may_begin_again(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now >= until + self.span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const SPAN: Duration = Duration::from_secs(15);
    const LONGEST: Duration = Duration::from_secs(5);

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn after_a_failed_round_the_others_have_time_to_say_that_they_live() {
        let start = Clock::system().instant();
        let mut grace = Grace::new(SPAN, LONGEST, start);
        grace.round_begins(start);
        assert!(!grace.spares(start), "a first start has none");
        grace.round_ended(start + second(1), true);
        // The grace period begins however long ago the last round was.
        let back = start + second(500);
        grace.round_begins(back);
        grace.reached(back);
        assert!(grace.spares(back));
        grace.round_ended(back, false);
        grace.round_begins(back + second(14));
        grace.reached(back + second(14));
        assert!(grace.spares(back + second(14)));
        grace.round_ended(back + second(14), false);
        grace.round_begins(back + second(15));
        grace.reached(back + second(15));
        assert!(!grace.spares(back + second(15)));
    }

    #[test]
    fn the_time_begins_when_the_database_is_there_again() {
        let start = Clock::system().instant();
        let mut grace = Grace::new(SPAN, LONGEST, start);
        // The database is unreachable for as long as a
        // heartbeat is valid: no round reaches the check.
        for number in 0..6 {
            grace.round_begins(start + second(5 * number));
            grace.round_ended(start + second(5 * number + 1), true);
        }
        let back = start + second(31);
        grace.round_begins(back);
        grace.reached(back);
        // In this round, no node has been silent long enough to be checked.
        grace.round_ended(back, false);
        grace.round_begins(back + second(14));
        grace.reached(back + second(14));
        assert!(grace.spares(back + second(14)));
    }

    #[test]
    fn a_long_gap_between_rounds_that_went_well_is_no_reason() {
        let start = Clock::system().instant();
        let mut grace = Grace::new(SPAN, LONGEST, start);
        grace.round_begins(start);
        grace.round_ended(start, false);
        grace.round_begins(start + second(500));
        grace.reached(start + second(500));
        assert!(!grace.spares(start + second(500)));
    }

    #[test]
    fn a_round_that_was_kept_waiting_spares_them_at_once_and_afterwards() {
        let start = Clock::system().instant();
        let mut grace = Grace::new(SPAN, LONGEST, start);
        grace.round_begins(start);
        assert!(!grace.spares(start + second(5)));
        assert!(grace.spares(start + second(6)));
        grace.round_ended(start + second(6), false);
        grace.round_begins(start + second(7));
        grace.reached(start + second(7));
        assert!(grace.spares(start + second(7)));
    }

    #[test]
    fn dead_nodes_are_found_even_if_each_round_is_slow_or_fails() {
        for (took, fails) in [(second(6), false), (second(1), true)] {
            let start = Clock::system().instant();
            let mut grace = Grace::new(SPAN, LONGEST, start);
            let spared = (0..20).map(|number| {
                let begin = start + second(10 * number);
                let look = begin + took;
                grace.round_begins(begin);
                grace.reached(begin);
                let spares = grace.spares(look);
                grace.round_ended(look, fails);
                spares
            });
            let spared: Vec<bool> = spared.collect();
            assert!(spared.iter().any(|spares| *spares) && spared.iter().any(|spares| !spares));
        }
    }

    #[test]
    fn a_second_outage_that_lets_heartbeats_expire_has_a_grace_of_its_own() {
        let start = Clock::system().instant();
        let mut grace = Grace::new(SPAN, LONGEST, start);
        grace.round_begins(start);
        grace.round_ended(start, true);
        let first = start + second(40);
        grace.round_begins(first);
        grace.reached(first);
        // The outage begins in the middle of that grace period and lasts twice as long as one.
        grace.round_ended(first + second(1), true);
        let second_end = first + second(1 + 30);
        grace.round_begins(second_end);
        grace.reached(second_end);
        assert!(grace.spares(second_end));
    }
}
