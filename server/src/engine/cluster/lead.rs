//! Terms: a service that one node does for all is done under a lease, which is renewed at each
//! round. Whoever has it steps down by its own monotonic clock before the term ends, and each
//! write names the epoch, so one that was frozen meanwhile writes nothing.

use std::time::{Duration, Instant};

use crate::{
    clock::Clock,
    engine::{EngineError, core::Core},
    store::{
        DatabaseTransaction, Store,
        leases::{Fence, Term},
    },
};

/// A term that this node has begun.
#[derive(Clone, Debug)]
pub(in crate::engine) struct LeaseTerm {
    /// What each write names.
    pub(in crate::engine) fence: Fence,
    /// Nothing new is begun from then on.
    until: Instant,
}

impl LeaseTerm {
    /// A term that was asked for at `asked`: it ends a sixth of it earlier than the lease does.
    pub(in crate::engine) fn new(fence: Fence, asked: Instant, term: Duration) -> Self {
        Self { fence, until: asked + term - term / 6 }
    }

    /// Whether to step down.
    pub(in crate::engine) fn is_over(&self, clock: &Clock) -> bool {
        clock.instant() >= self.until
    }

    /// Begins a transaction of the service; nothing, if the term is over.
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

/// A term lasts this long at least, however short the pace of its service is: on a slow disk the
/// commit that renews it takes most of a shorter one, and what is left would be enough for nothing,
/// round after round.
const SHORTEST: Duration = Duration::from_secs(5);

/// Takes the service's lease for at least `term`, or renews it; nothing, if another node has it or
/// this one must not schedule. A term that stood there for as long as it was to last, by the
/// monotonic clock here, is over: where the database's clock was stepped back, a dead holder would
/// have it for as long again as the step.
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
        Term::Held(epoch) => Some(LeaseTerm::new(Fence { name, holder, epoch }, asked, term)),
        Term::Elsewhere => None,
    })
}
