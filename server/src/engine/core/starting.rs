//! Attempts between the commit that assigns them to this node and their start.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{engine::core::Core, store::holds::RunLease};

/// The pause before an unreachable database is queried again.
const PAUSE: Duration = Duration::from_millis(500);

/// Attempts that this node is about to start. The tables may already assign them to this node, but
/// no other set in memory contains them yet. So if the tables contain an attempt that is neither
/// here nor in progress, this node will never work on it.
#[derive(Debug, Default)]
pub(in crate::engine) struct StartingAttempts {
    /// How many times each attempt has been entered.
    entered: Mutex<HashMap<RunLease, usize>>,
}

/// A guard for entered attempts.
/// It is dropped when they are in progress, or when the commit failed or seemed to fail.
#[derive(Debug)]
pub(in crate::engine) struct StartingGuard<'a> {
    all: &'a StartingAttempts,
    holds: Vec<RunLease>,
    since: Instant,
}

impl StartingAttempts {
    /// Enters attempts. This must happen before the commit.
    /// `since` is an instant before the tables were read.
    pub(in crate::engine) fn enter(
        &self,
        since: Instant,
        holds: impl IntoIterator<Item = RunLease>,
    ) -> StartingGuard<'_> {
        let holds: Vec<RunLease> = holds.into_iter().collect();
        let mut entered = self.entered();
        for hold in &holds {
            *entered.entry(*hold).or_default() += 1;
        }
        drop(entered);
        StartingGuard { all: self, holds, since }
    }

    /// Whether an attempt is about to start.
    pub(in crate::engine) fn has(&self, hold: &RunLease) -> bool {
        self.entered().contains_key(hold)
    }

    fn entered(&self) -> MutexGuard<'_, HashMap<RunLease, usize>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StartingGuard<'_> {
    /// The entered attempts that the node has lost again and must not start. See [`lost_since`].
    pub(in crate::engine) async fn lost(&self, core: &Core) -> HashSet<RunLease> {
        lost_since(core, self.since, &self.holds).await
    }
}

/// The attempts of `holds` that this node has lost. All of them must belong to one life of this
/// node, which held them at `since` or received them later.
pub(in crate::engine) async fn lost_since(
    core: &Core,
    mut since: Instant,
    holds: &[RunLease],
) -> HashSet<RunLease> {
    let mut lost = HashSet::new();
    let Some(node) = holds.first().map(|hold| hold.node_id) else { return lost };
    loop {
        let now = core.clock.instant();
        if now.saturating_duration_since(since) < core.settings.heartbeat_expiry {
            return lost;
        }
        since = now;
        let there = loop {
            match core.store.held_alive(node).await {
                Ok(there) => break there,
                Err(error) => {
                    tracing::warn!(
                        %error,
                        "could not query which attempts still belong to this node"
                    );
                    if !error.is_transient() {
                        break Vec::new();
                    }
                }
            }
            core.clock.sleep(PAUSE).await;
        };
        lost = holds.iter().copied().filter(|hold| !there.contains(hold)).collect();
        if !lost.is_empty() {
            let attempts = lost.len();
            tracing::warn!(
                attempts,
                "this node was suspended, and does not start the attempts that it has lost"
            );
        }
    }
}

impl Drop for StartingGuard<'_> {
    fn drop(&mut self) {
        let mut entered = self.all.entered();
        for hold in &self.holds {
            if let Some(times) = entered.get_mut(hold) {
                *times -= 1;
                if *times == 0 {
                    entered.remove(hold);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::clock::Clock;

    #[test]
    fn an_attempt_counts_until_its_last_entry_is_dropped() {
        let all = StartingAttempts::default();
        let hold =
            |attempt| RunLease { run_id: Uuid::nil(), attempt, node_id: Uuid::nil(), epoch: 1 };
        let now = Clock::system().instant();
        let one = all.enter(now, [hold(1), hold(2)]);
        let other = all.enter(now, [hold(1)]);
        drop(one);
        assert!(all.has(&hold(1)) && !all.has(&hold(2)));
        drop(other);
        assert!(!all.has(&hold(1)));
    }
}
