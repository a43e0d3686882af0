//! Decides which node claims due fires first, if the nodes use locks in Redis for this.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    beacon::FireClaim,
    engine::{EngineError, core::Core},
    store::{candidates::Candidate, claims::ShardTurns},
};

/// The schedules that a node may attempt to claim.
pub(super) enum ClaimableSchedules {
    /// The schedules for which this node has the lock, and whether more may be due.
    These(Vec<Candidate>, bool),
    /// All schedules that no other transaction has locked in the database.
    Anything,
}

/// How many times a claim skips fires whose locks other nodes hold. Then it ignores the locks: they
/// only save work, and fires that have become due since must not wait until the locks expire.
const MAX_LOOKS: usize = 8;

/// A batch of due schedules that this node may claim, without those that another node is claiming
/// right now and those in `passed`.
pub(super) async fn first_to(
    core: &Core,
    node: Uuid,
    now: DateTime<Utc>,
    turns: Option<ShardTurns<'_>>,
    passed: &[Candidate],
) -> Result<ClaimableSchedules, EngineError> {
    let limit = core.settings.batch;
    let mut refused = Vec::new();
    for _ in 0..MAX_LOOKS {
        let due = core.store.due_candidates(now.into(), turns, passed, &refused, limit).await?;
        let is_full = due.len() as u64 >= limit;
        let claims = due.iter().map(|due| FireClaim { schedule: due.id, at: due.at }).collect();
        let first = core.cluster.first_to(node, claims).await;
        if !first.is_empty() || !is_full {
            let candidate = |claim: &FireClaim| Candidate { id: claim.schedule, at: claim.at };
            return Ok(ClaimableSchedules::These(first.iter().map(candidate).collect(), is_full));
        }
        refused.extend(due.iter().map(|due| due.id));
    }
    Ok(ClaimableSchedules::Anything)
}
