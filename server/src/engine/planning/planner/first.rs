//! Who goes first for what is due, where nodes agree on that by locks in Redis.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    beacon::Claim,
    engine::{EngineError, core::Core},
    store::{candidates::Candidate, claims::Turns},
};

/// What of all that is due a node goes for.
pub(super) enum First {
    /// These, which others leave to it; and whether more may be due.
    These(Vec<Candidate>, bool),
    /// Whatever nobody has locked in the database.
    Anything,
}

/// So often a claim looks past what others have a lock for. After that it does without: a lock only
/// saves work, and what has fallen due since must not wait until it ends.
const MAX_LOOKS: usize = 8;

/// A batch of what is due and this node's to claim, without what another one goes for at this moment,
/// and what is `passed`.
pub(super) async fn first_to(
    core: &Core,
    node: Uuid,
    now: DateTime<Utc>,
    turns: Option<Turns<'_>>,
    passed: &[Candidate],
) -> Result<First, EngineError> {
    let limit = core.settings.batch;
    let mut refused = Vec::new();
    for _ in 0..MAX_LOOKS {
        let due = core.store.due_candidates(now.into(), turns, passed, &refused, limit).await?;
        let is_full = due.len() as u64 >= limit;
        let claims = due.iter().map(|due| Claim { schedule: due.id, at: due.at }).collect();
        let first = core.cluster.first_to(node, claims).await;
        if !first.is_empty() || !is_full {
            let candidate = |claim: &Claim| Candidate { id: claim.schedule, at: claim.at };
            return Ok(First::These(first.iter().map(candidate).collect(), is_full));
        }
        refused.extend(due.iter().map(|due| due.id));
    }
    Ok(First::Anything)
}
