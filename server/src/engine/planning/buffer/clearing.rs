//! Runs that are to give way. So many of them are stopped in one transaction and no more, however
//! many live: a claim stops those of a schedule all together or leaves them, and lets its fire wait.
//! What presses on the runs in the way of fires that wait stops them step by step; the last step is
//! followed by the fire.

use std::collections::HashSet;

use chrono::{DateTime, SecondsFormat, Utc};
use entity::Timestamp;
use timetable::overlap::{Others, Plan};
use uuid::Uuid;

use crate::{
    engine::{
        EngineError,
        core::{Core, StopReason},
    },
    store::{DatabaseTransaction, clearing::BlockedFire},
};

/// So many runs one transaction stops.
const MAX: usize = 500;

/// What a fire asks of whatever is in its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Demand {
    pub(in crate::engine) schedule_id: Uuid,
    pub(in crate::engine) fire_id: Uuid,
    pub(in crate::engine) scheduled_at: Timestamp,
    /// What becomes of the live runs.
    pub(in crate::engine) others: Others,
    /// Whether it takes the place of the fires that wait.
    pub(in crate::engine) replaces_waiting: bool,
}

impl Demand {
    /// What the plan demands for the fire, if it demands anything.
    pub(in crate::engine) fn of(
        plan: &Plan,
        schedule_id: Uuid,
        (fire_id, scheduled_at): (Uuid, Timestamp),
    ) -> Option<Self> {
        let Plan { others, replaces_waiting, .. } = *plan;
        let demand = Self { schedule_id, fire_id, scheduled_at, others, replaces_waiting };
        (others != Others::Leave || replaces_waiting).then_some(demand)
    }

    fn way(&self) -> BlockedFire {
        let at = self.scheduled_at.utc().to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let word = match self.others {
            Others::Leave => "waits",
            Others::Cancel => "cancel_other",
            Others::Terminate => "terminate_other",
        };
        BlockedFire {
            schedule_id: self.schedule_id,
            fire_id: self.fire_id,
            reason: format!("overlap: {word}, for fire {} of {at}", self.fire_id),
        }
    }
}

/// The demands of one transaction's fires.
#[derive(Debug, Default)]
pub(in crate::engine) struct Clearing {
    /// Of fires that are decided along with it: all that is in their way.
    demands: Vec<Demand>,
    /// Of fires that wait anyway: as much as there is room for.
    pressing: Vec<Demand>,
    /// How many runs the former stop.
    stopped: usize,
}

/// What a transaction has stopped. It is told to the attempts after the commit.
#[derive(Debug, Default)]
pub(in crate::engine) struct Cleared {
    cancelled: HashSet<Uuid>,
    terminated: HashSet<Uuid>,
}

impl Clearing {
    /// How many runs more may be stopped.
    pub(in crate::engine) fn stoppable(&self) -> usize {
        MAX.saturating_sub(self.stopped)
    }

    /// The demand of a fire that found so many alive.
    pub(in crate::engine) fn add(&mut self, demand: Option<Demand>, live: usize) {
        let Some(demand) = demand else { return };
        if demand.others != Others::Leave {
            self.stopped += live;
        }
        self.demands.push(demand);
    }

    /// The demand of a fire that waits already.
    pub(super) fn press(&mut self, demand: Demand) {
        self.pressing.push(demand);
    }

    /// Whether nothing is to be stopped or replaced.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.demands.is_empty() && self.pressing.is_empty()
    }

    /// Keeps the demands of the fires that were written: one whose slot was taken asks nothing.
    pub(in crate::engine) fn keep(&mut self, written: &HashSet<Uuid>) {
        self.demands.retain(|demand| written.contains(&demand.fire_id));
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.demands.extend(other.demands);
        self.pressing.extend(other.pressing);
        self.stopped += other.stopped;
    }

    /// Writes what is demanded.
    pub(in crate::engine) async fn carry_out(
        &self,
        core: &Core,
        tx: &DatabaseTransaction,
        now: DateTime<Utc>,
    ) -> Result<Cleared, EngineError> {
        let replaced = self.demands.iter().filter(|demand| demand.replaces_waiting);
        let replaced: Vec<_> =
            replaced.map(|demand| (demand.schedule_id, demand.fire_id)).collect();
        core.store.replace_waiting(tx, &replaced, now.into()).await?;
        let mut cleared = Cleared::default();
        cleared.stop(core, tx, &self.demands, None, now).await?;
        if !self.pressing.is_empty() {
            let most = MAX.saturating_sub(cleared.count());
            cleared.stop(core, tx, &self.pressing, Some(most), now).await?;
        }
        Ok(cleared)
    }
}

impl Cleared {
    pub(super) fn has_any(&self) -> bool {
        self.count() > 0
    }

    fn count(&self) -> usize {
        self.cancelled.len() + self.terminated.len()
    }

    /// Stops what the demands name, so many at the most, if that is said.
    async fn stop(
        &mut self,
        core: &Core,
        tx: &DatabaseTransaction,
        demands: &[Demand],
        most: Option<usize>,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let ways = |others| {
            let demands = demands.iter().filter(move |demand| demand.others == others);
            demands.map(Demand::way).collect::<Vec<_>>()
        };
        let (cancel, terminate) = (ways(Others::Cancel), ways(Others::Terminate));
        let cancelled = core.store.cancel_live(tx, &cancel, most, now.into()).await?;
        let most = most.map(|most| most.saturating_sub(cancelled.len()));
        self.cancelled.extend(cancelled);
        self.terminated.extend(core.store.terminate_live(tx, &terminate, most, now.into()).await?);
        Ok(())
    }

    /// Stops the attempts of this node that are affected, and wakes the other nodes for theirs.
    pub(in crate::engine) fn announce(&self, core: &Core) {
        if self.has_any() {
            core.signals.wake_canceller();
        }
        if !self.terminated.is_empty() {
            core.registry.stop(StopReason::Lost, |hold| self.terminated.contains(&hold.run_id));
        }
        if self.has_any() {
            core.run_settled();
        }
    }
}
