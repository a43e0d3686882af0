//! Locks due schedules for one claim, so that no other planner claims them and edits must wait.

use chrono::{DateTime, Utc};

use super::first::{ClaimableSchedules, first_to};
use crate::{
    engine::{EngineError, cluster::ClaimTurns, core::Core},
    store::{DatabaseTransaction, candidates::Candidate, claims::DueSchedule},
};

/// Due schedules that a transaction has locked.
pub(super) struct LockedSchedules {
    pub(super) tx: DatabaseTransaction,
    pub(super) due: Vec<DueSchedule>,
    /// When the schedules were locked. Before that, this node may have been suspended or waited for
    /// a connection, and other nodes may have changed these rows.
    pub(super) now: DateTime<Utc>,
    /// Whether more schedules may be due.
    pub(super) more_is_due: bool,
}

impl LockedSchedules {
    /// The locked schedules, as candidates for a claim.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        self.due.iter().filter_map(candidate).collect()
    }
}

/// A schedule with its cursor, as a candidate for a claim.
pub(super) fn candidate(due: &DueSchedule) -> Option<Candidate> {
    Some(Candidate { id: due.id, at: due.next_fire_at? })
}

/// Locks a batch of due schedules that this node may claim, without those in `passed`.
pub(super) async fn lock_due(
    core: &Core,
    now: DateTime<Utc>,
    share: Option<&ClaimTurns>,
    passed: &[Candidate],
) -> Result<Option<LockedSchedules>, EngineError> {
    let turns = share.map(|share| share.turns(now.into()));
    if core.cluster.has_locks(share) {
        let node = core.node_id().await;
        match first_to(core, node, now, turns, passed).await? {
            ClaimableSchedules::These(these, more) => {
                return lock_these(core, now, &these, more).await;
            }
            ClaimableSchedules::Anything => {}
        }
    }
    let batch = core.settings.batch;
    let tx = core.store.begin().await?;
    let due = core.store.lock_due_schedules(&tx, now.into(), turns, passed, batch).await?;
    locked(core, LockedSchedules { tx, due, now, more_is_due: false }).await
}

/// Locks the candidates that are still due.
pub(super) async fn lock_these(
    core: &Core,
    now: DateTime<Utc>,
    these: &[Candidate],
    more_is_due: bool,
) -> Result<Option<LockedSchedules>, EngineError> {
    if these.is_empty() {
        return Ok(None);
    }
    let tx = core.store.begin().await?;
    let due = core.store.lock_if_still_due(&tx, now.into(), these).await?;
    locked(core, LockedSchedules { tx, due, now, more_is_due }).await
}

/// The locked batch; `None` if it is empty or this node may not claim it.
async fn locked(
    core: &Core,
    mut batch: LockedSchedules,
) -> Result<Option<LockedSchedules>, EngineError> {
    // If the cluster uses other zone data, other nodes claim these schedules, or this node claims
    // them after recomputing their cursors.
    if batch.due.is_empty() || core.has_other_zones(&batch.tx).await? {
        batch.tx.rollback().await?;
        return Ok(None);
    }
    batch.now = batch.now.max(core.agreed_now_in(&batch.tx).await?);
    Ok(Some(batch))
}
