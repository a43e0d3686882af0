//! How long attempts on other nodes have been overdue, by this node's own monotonic clock.
//! Computed without IO, from rows and instants.

use std::{
    collections::HashMap,
    mem,
    time::{Duration, Instant},
};

use crate::store::recoveries::OverdueAttempt;

/// Overdue attempts of other nodes, each with the time when this node first saw it.
///
/// A hard deadline is written by the database's clock and compared with it.
/// If that clock is stepped forward, every attempt everywhere is overdue at once.
/// But an attempt with the same hold and deadline at both ends of a period as long as its limit has
/// taken that long, whatever the database's clock did.
#[derive(Debug, Default)]
pub(super) struct OverrunWatch {
    seen: HashMap<OverdueAttempt, Instant>,
}

impl OverrunWatch {
    /// Records all attempts that are overdue now.
    pub(super) fn look(&mut self, overdue: impl IntoIterator<Item = OverdueAttempt>, now: Instant) {
        let before = mem::take(&mut self.seen);
        let since = |overdue: &OverdueAttempt| before.get(overdue).copied().unwrap_or(now);
        self.seen = overdue.into_iter().map(|overdue| (overdue, since(&overdue))).collect();
    }

    /// The attempts that have been overdue for as long as their `limit`.
    /// Attempts without a limit are left out.
    pub(super) fn outlived(
        &self,
        now: Instant,
        limit: impl Fn(&OverdueAttempt) -> Option<Duration>,
    ) -> Vec<OverdueAttempt> {
        let outlived = |(overdue, since): &(&OverdueAttempt, &Instant)| {
            limit(overdue).is_some_and(|limit| now.saturating_duration_since(**since) >= limit)
        };
        self.seen.iter().filter(outlived).map(|(overdue, _)| *overdue).collect()
    }
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::{clock::Clock, store::holds::RunLease};

    const LIMIT: Duration = Duration::from_secs(60);

    fn overdue(attempt: i32, deadline: i64) -> OverdueAttempt {
        OverdueAttempt {
            hold: RunLease { run_id: Uuid::nil(), attempt, node_id: Uuid::nil(), epoch: 1 },
            hard_deadline_at: Timestamp(deadline),
            workflow_id: Uuid::nil(),
            workflow_version: 1,
        }
    }

    #[test]
    fn an_attempt_has_outlived_its_limit_when_it_was_watched_for_as_long() {
        let (start, second) = (Clock::system().instant(), Duration::from_secs(1));
        let mut watch = OverrunWatch::default();
        watch.look([overdue(1, 5)], start);
        watch.look([overdue(1, 5), overdue(2, 5)], start + 59 * second);
        let limit = |_: &OverdueAttempt| Some(LIMIT);
        assert_eq!(watch.outlived(start + 59 * second, limit), []);
        assert_eq!(watch.outlived(start + 60 * second, limit), [overdue(1, 5)]);
        assert_eq!(watch.outlived(start + 60 * second, |_| None), [], "nobody knows its limit");
    }

    #[test]
    fn another_step_of_a_run_has_its_own_time_and_so_has_what_was_not_overdue_meanwhile() {
        let (start, second) = (Clock::system().instant(), Duration::from_secs(1));
        let mut watch = OverrunWatch::default();
        let limit = |_: &OverdueAttempt| Some(LIMIT);
        watch.look([overdue(1, 5)], start);
        watch.look([overdue(1, 6)], start + 50 * second);
        assert_eq!(watch.outlived(start + 100 * second, limit), []);
        watch.look([], start + 100 * second);
        watch.look([overdue(1, 6)], start + 110 * second);
        assert_eq!(watch.outlived(start + 160 * second, limit), []);
        assert_eq!(watch.outlived(start + 170 * second, limit), [overdue(1, 6)]);
    }
}
