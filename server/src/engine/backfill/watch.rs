use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use uuid::Uuid;

/// The runs of backfills that are alive, as far as this node knows: whoever settles one of them
/// wakes the service. Nothing hangs on it but time, for the service looks by itself, too.
#[derive(Debug, Default)]
pub(in crate::engine) struct Watch(Mutex<HashSet<Uuid>>);

impl Watch {
    /// From now on these, too. To be called before they can settle.
    pub(super) fn add(&self, runs: impl IntoIterator<Item = Uuid>) {
        self.locked().extend(runs);
    }

    /// From now on these alone.
    pub(super) fn keep(&self, runs: HashSet<Uuid>) {
        *self.locked() = runs;
    }

    /// Whether one of these is watched.
    pub(in crate::engine) fn has_any(&self, mut runs: impl Iterator<Item = Uuid>) -> bool {
        let watched = self.locked();
        !watched.is_empty() && runs.any(|run| watched.contains(&run))
    }

    fn locked(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
