//! The runs and claims that backfills wait for.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use uuid::Uuid;

/// The runs and claims for which backfills wait, as far as this node knows: their live runs, and
/// claims of the planner. When such a run settles or such a claim is made, the backfill service
/// wakes. This only saves time, because the service also polls.
#[derive(Debug, Default)]
pub(crate) struct BackfillWatch {
    runs: Mutex<HashSet<Uuid>>,
    claims: AtomicBool,
}

impl BackfillWatch {
    /// Adds runs to watch. This must happen before they can settle.
    pub(in crate::engine) fn add(&self, runs: impl IntoIterator<Item = Uuid>) {
        self.locked().extend(runs);
    }

    /// Watches only these runs from now on.
    pub(in crate::engine) fn keep(&self, runs: HashSet<Uuid>) {
        *self.locked() = runs;
    }

    /// Also watches for the planner's next claim.
    pub(in crate::engine) fn await_claim(&self) {
        self.claims.store(true, Ordering::Relaxed);
    }

    /// Whether a backfill waited for a claim; clears the flag.
    /// The backfill's next turn sets it again if needed.
    pub(crate) fn take_claim(&self) -> bool {
        self.claims.load(Ordering::Relaxed) && self.claims.swap(false, Ordering::Relaxed)
    }

    /// Whether any of these runs is watched.
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
