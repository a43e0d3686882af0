//! Lease terms. A service that one node runs for all holds a lease, which each round renews.
//! The holder steps down by its own monotonic clock before the term ends.
//! Each write names the epoch, so a holder that was frozen in the meantime writes nothing.

use std::time::{Duration, Instant};

use crate::{
    clock::Clock,
    engine::{EngineError, core::Core},
    store::{
        DatabaseTransaction, Store,
        leases::{Fence, LeaseState},
    },
};

/// A term of a lease that this node holds.
#[derive(Clone, Debug)]
pub(in crate::engine) struct LeaseTerm {
    /// The lease's epoch, which each write names.
    pub(in crate::engine) fence: Fence,
    /// No new work starts after this instant.
    until: Instant,
}

impl LeaseTerm {
    /// A term that was requested at `asked`. It ends before the lease does, by a sixth of the term.
    pub(in crate::engine) fn new(fence: Fence, asked: Instant, term: Duration) -> Self {
        Self { fence, until: asked + term - term / 6 }
    }

    /// Whether the node must step down.
    pub(in crate::engine) fn is_over(&self, clock: &Clock) -> bool {
        clock.instant() >= self.until
    }

    /// Begins a transaction of the leading service; returns `None` if the term is over.
    pub(in crate::engine) async fn begin(
        &self,
        store: &Store,
        clock: &Clock,
    ) -> Result<Option<DatabaseTransaction>, EngineError> {
        if self.is_over(clock) {
            return Ok(None);
        }
        Ok(store.begin_if_held(&self.fence).await?)
    }
}

/// The shortest term, however short the service's interval is. On a slow disk, the commit that
/// renews a shorter term would use up most of it, round after round.
const SHORTEST: Duration = Duration::from_secs(5);

/// Takes or renews a service's lease for at least `term`.
/// Returns `None` if another node holds the lease or this node must not schedule.
///
/// If this node's monotonic clock shows that another node's term has not changed for its full
/// length, the term counts as over. Otherwise a database clock that was stepped back would let a
/// dead holder keep the lease longer, by the size of the step.
pub(in crate::engine) async fn lead(
    core: &Core,
    name: &'static str,
    term: Duration,
) -> Result<Option<LeaseTerm>, EngineError> {
    if !core.may_schedule().await? {
        return Ok(None);
    }
    let term = term.max(SHORTEST);
    let holder = core.node_id().await;
    let asked = core.clock.instant();
    let over = core.cluster.term_over(name, asked);
    let (answer, theirs) = core.store.hold_lease_if_over(name, holder, term, over).await?;
    if let Some(theirs) = theirs {
        core.cluster.note_term(name, theirs, core.clock.instant());
    }
    Ok(match answer {
        LeaseState::Held(epoch) => Some(LeaseTerm::new(Fence { name, holder, epoch }, asked, term)),
        LeaseState::Elsewhere => None,
    })
}
