//! The outcomes of a schedule's fires, counted.

use async_graphql::SimpleObject;

use super::scalar::Long;
use crate::store::reads::tally;

/// Fires of a period by outcome. Fires whose run was cancelled are not counted.
#[derive(SimpleObject)]
pub(crate) struct Tally {
    /// Fires whose run succeeded.
    succeeded: Long,
    /// Fires whose runs failed or timed out.
    failed: Long,
    /// Fires whose run has not started yet or has not ended.
    running: Long,
    /// Fires that were skipped on purpose (because of a calendar, a pause, a change or a request)
    /// or for load (because of a live run, a full buffer, a start deadline or a quota).
    skipped: Long,
    /// Fires that were missed, collapsed into a later one, or abandoned.
    missed: Long,
}

impl From<tally::Tally> for Tally {
    fn from(tally: tally::Tally) -> Self {
        let tally::Tally { succeeded, failed, running, skipped, missed } = tally;
        Self {
            succeeded: succeeded.into(),
            failed: failed.into(),
            running: running.into(),
            skipped: skipped.into(),
            missed: missed.into(),
        }
    }
}
