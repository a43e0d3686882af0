//! How long a node caches what it looked up about a caller.
//!
//! Nodes do not look up a token for each request: a result is valid for a tenth of a second from
//! the start of the lookup. A change of rights therefore waits for the same time after its commit
//! before its caller gets the response. So the change applies to every request after the response,
//! on all nodes, and no node has to notify the others.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    clock::Clock,
    store::{DatabaseTransaction, Store, StoreError},
};

/// How long a lookup's result is valid.
const LASTS: Duration = Duration::from_millis(100);

/// When a lookup began, or a caller arrived.
#[derive(Clone, Copy, Debug)]
pub struct LookupMoment {
    instant: Instant,
    at: DateTime<Utc>,
}

impl LookupMoment {
    /// The current moment.
    pub fn of(clock: &Clock) -> Self {
        Self { instant: clock.instant(), at: clock.now() }
    }

    /// Whether this moment is not earlier than `other`.
    pub fn is_since(&self, other: Self) -> bool {
        self.instant >= other.instant
    }

    /// Whether a result from this moment is still valid.
    pub fn is_recent(&self, clock: &Clock) -> bool {
        let now = Self::of(clock);
        // While a machine is suspended, the monotonic clock stands still; the wall clock may be
        // set.
        let lasts = TimeDelta::from_std(LASTS).unwrap_or_default();
        now.instant.duration_since(self.instant) < LASTS && (now.at - self.at).abs() < lasts
    }
}

/// Commits a change of rights. When this returns, the change applies everywhere.
pub(crate) async fn commit_rights(
    store: &Store,
    tx: DatabaseTransaction,
) -> Result<(), StoreError> {
    store.commit(tx).await?;
    wait_until_rights_apply().await;
    Ok(())
}

/// Waits until a committed change applies everywhere. Uses the machine's own time, whatever clock
/// the schedules use, because it concerns other processes.
pub(crate) async fn wait_until_rights_apply() {
    Clock::system().sleep(LASTS).await;
}

#[cfg(test)]
mod tests {
    use crate::clock::ManualClock;

    use super::*;

    #[test]
    fn a_lookup_is_valid_while_both_clocks_agree() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let clock = manual.clock();
        let moment = LookupMoment::of(&clock);
        manual.pass(LASTS - Duration::from_millis(1));
        assert!(moment.is_recent(&clock));
        manual.pass(Duration::from_millis(1));
        assert!(!moment.is_recent(&clock));
        let moment = LookupMoment::of(&clock);
        manual.set(clock.now() + TimeDelta::hours(1));
        assert!(!moment.is_recent(&clock), "the machine slept");
        let moment = LookupMoment::of(&clock);
        manual.set(clock.now() - TimeDelta::hours(1));
        assert!(!moment.is_recent(&clock), "the clock was set");
    }
}
