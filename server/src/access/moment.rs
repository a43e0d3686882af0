//! For how long a node goes by what it has found out about somebody.
//!
//! Nodes do not look at a token for each request: what one has found holds for a tenth of a second
//! from when it began to look. And whoever changes what somebody may do is answered that much after
//! the commit. So the change counts for every request that comes after the answer, on all nodes, and
//! none has to tell the others.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    clock::Clock,
    store::{DatabaseTransaction, Store, StoreError},
};

/// So long holds what was found.
const LASTS: Duration = Duration::from_millis(100);

/// When somebody began to look, or came.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    instant: Instant,
    at: DateTime<Utc>,
}

impl Moment {
    /// This one.
    pub fn of(clock: &Clock) -> Self {
        Self { instant: clock.instant(), at: clock.now() }
    }

    /// Whether it is not before the other one.
    pub fn is_since(&self, other: Self) -> bool {
        self.instant >= other.instant
    }

    /// Whether what was found by then still holds.
    pub fn is_recent(&self, clock: &Clock) -> bool {
        let now = Self::of(clock);
        // While a machine sleeps the one clock stands still; the other one may be set.
        let lasts = TimeDelta::from_std(LASTS).unwrap_or_default();
        now.instant.duration_since(self.instant) < LASTS && (now.at - self.at).abs() < lasts
    }
}

/// Commits a change of what somebody may do. It counts everywhere when this returns.
pub(crate) async fn commit_rights(
    store: &Store,
    tx: DatabaseTransaction,
) -> Result<(), StoreError> {
    store.commit(tx).await?;
    rights_count().await;
    Ok(())
}

/// Waits until what was committed counts everywhere: by the machine's own time, whatever clock
/// schedules live by, as it is about other processes.
pub(crate) async fn rights_count() {
    Clock::system().sleep(LASTS).await;
}

#[cfg(test)]
mod tests {
    use crate::clock::ManualClock;

    use super::*;

    #[test]
    fn what_was_found_holds_while_both_clocks_say_so() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let clock = manual.clock();
        let moment = Moment::of(&clock);
        manual.pass(LASTS - Duration::from_millis(1));
        assert!(moment.is_recent(&clock));
        manual.pass(Duration::from_millis(1));
        assert!(!moment.is_recent(&clock));
        let moment = Moment::of(&clock);
        manual.set(clock.now() + TimeDelta::hours(1));
        assert!(!moment.is_recent(&clock), "the machine slept");
        let moment = Moment::of(&clock);
        manual.set(clock.now() - TimeDelta::hours(1));
        assert!(!moment.is_recent(&clock), "the clock was set");
    }
}
