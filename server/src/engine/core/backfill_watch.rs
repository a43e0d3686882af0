//! What backfills wait for.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use uuid::Uuid;

/// What backfills wait for, as far as this node knows: their live runs and the planner's claims.
/// Whoever settles one of these runs, or claims, wakes the service. Nothing hangs on it but time,
/// for the service looks by itself, too.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    runs: Mutex<HashSet<Uuid>>,
    claims: AtomicBool,
}

impl Watch {
    /// From now on these, too. To be called before they can settle.
    pub(in crate::engine) fn add(&self, runs: impl IntoIterator<Item = Uuid>) {
        self.locked().extend(runs);
    }

    /// From now on these alone.
    pub(in crate::engine) fn keep(&self, runs: HashSet<Uuid>) {
        *self.locked() = runs;
    }

    /// From now on a claim, too.
    pub(in crate::engine) fn await_claim(&self) {
        self.claims.store(true, Ordering::Relaxed);
    }

    /// Whether a claim was waited for. The next turn says so again, if it does.
    pub(crate) fn take_claim(&self) -> bool {
        self.claims.load(Ordering::Relaxed) && self.claims.swap(false, Ordering::Relaxed)
    }

    /// Whether one of these is watched.
    pub(crate) fn has_any(&self, mut runs: impl Iterator<Item = Uuid>) -> bool {
        let watched = self.locked();
        !watched.is_empty() && runs.any(|run| watched.contains(&run))
    }

    /// Whether any run is watched.
    pub(crate) fn has_any_run(&self) -> bool {
        !self.locked().is_empty()
    }

    fn locked(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
