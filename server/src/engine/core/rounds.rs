//! The results of this node's planner rounds.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

/// Since when this node's planner rounds have been failing; `None` if they succeed.
#[derive(Debug, Default)]
pub(in crate::engine) struct PlannerHealth(Mutex<Option<DateTime<Utc>>>);

impl PlannerHealth {
    /// Records that a round succeeded.
    pub(in crate::engine) fn succeeded(&self) {
        *self.locked() = None;
    }

    /// Records that a round failed because the database did not answer.
    pub(in crate::engine) fn failed(&self, now: DateTime<Utc>) {
        self.locked().get_or_insert(now);
    }

    /// Since when the rounds have been failing; `None` if the last one succeeded.
    pub(in crate::engine) fn failing_since(&self) -> Option<DateTime<Utc>> {
        *self.locked()
    }

    fn locked(&self) -> MutexGuard<'_, Option<DateTime<Utc>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
