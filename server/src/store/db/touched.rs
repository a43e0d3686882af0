//! The jobs that this process has changed, so that its watcher need not read all of them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use uuid::Uuid;

/// Maximum number of jobs that are remembered.
const MAX_TOUCHED: usize = 20_000;

/// The keys of changed jobs that were not read yet.
#[derive(Clone, Debug, Default)]
pub struct TouchedJobs(Arc<Mutex<Touched>>);

#[derive(Debug, Default)]
struct Touched {
    ids: HashSet<Uuid>,
    /// Whether there were more jobs than are remembered.
    is_cut: bool,
}

impl TouchedJobs {
    /// Adds jobs whose change is committed. Readers are to be woken after that.
    pub(in crate::store) fn add(&self, ids: impl Iterator<Item = Uuid>) {
        let mut touched = self.touched();
        for id in ids {
            if touched.ids.len() >= MAX_TOUCHED {
                touched.is_cut = true;
                return;
            }
            touched.ids.insert(id);
        }
    }

    /// The jobs that were changed since the last call; `None` if they are too many.
    pub fn take(&self) -> Option<HashSet<Uuid>> {
        let Touched { ids, is_cut } = std::mem::take(&mut *self.touched());
        (!is_cut).then_some(ids)
    }

    fn touched(&self) -> MutexGuard<'_, Touched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_jobs_are_taken_once() {
        let touched = TouchedJobs::default();
        let ids = [1, 2].map(Uuid::from_u128);
        touched.add(ids.into_iter());
        touched.add(ids.into_iter());
        assert_eq!(touched.take(), Some(HashSet::from(ids)));
        assert_eq!(touched.take(), Some(HashSet::new()));
    }

    #[test]
    fn more_jobs_than_are_remembered_mean_all() {
        let touched = TouchedJobs::default();
        touched.add((0..=MAX_TOUCHED as u128).map(Uuid::from_u128));
        assert_eq!(touched.take(), None);
        assert_eq!(touched.take(), Some(HashSet::new()));
    }
}
