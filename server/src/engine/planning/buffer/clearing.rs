//! Stops runs so that a fire can start. One transaction stops a limited number of runs. A claim
//! either stops all runs of a schedule, or leaves them alone and lets its fire wait. In the second
//! case, the release stops the blocking runs step by step, and the fire starts after the last step.

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

/// Maximum number of runs that one transaction stops.
const MAX: usize = 500;

/// The demands of a fire on the runs and fires that block it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Demand {
    pub(in crate::engine) schedule_id: Uuid,
    pub(in crate::engine) fire_id: Uuid,
    pub(in crate::engine) scheduled_at: Timestamp,
    /// The fate of the live runs.
    pub(in crate::engine) others: Others,
    /// Whether the fire replaces the waiting ones.
    pub(in crate::engine) replaces_waiting: bool,
}

impl Demand {
    /// The demand of a fire under its plan; `None` if it demands nothing.
    pub(in crate::engine) fn of(
        plan: &Plan,
        schedule_id: Uuid,
        fire_id: Uuid,
        scheduled_at: Timestamp,
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

/// The demands of all fires in one transaction.
#[derive(Debug, Default)]
pub(in crate::engine) struct Clearing {
    /// The demands of fires decided in this transaction. All runs that block them must stop.
    demands: Vec<Demand>,
    /// The demands of waiting fires. As many runs must stop as the limit permits.
    pressing: Vec<Demand>,
    /// Number of runs that `demands` stops.
    stopped: usize,
}

/// The runs that a transaction has stopped. Their attempts are told after the commit.
#[derive(Debug, Default)]
pub(in crate::engine) struct Cleared {
    cancelled: HashSet<Uuid>,
    terminated: HashSet<Uuid>,
}

impl Clearing {
    /// Number of further runs that may be stopped.
    pub(in crate::engine) fn stoppable(&self) -> usize {
        MAX.saturating_sub(self.stopped)
    }

    /// Adds the demand of a fire that found `live` runs.
    pub(in crate::engine) fn add(&mut self, demand: Option<Demand>, live: usize) {
        let Some(demand) = demand else { return };
        if demand.others != Others::Leave {
            self.stopped += live;
        }
        self.demands.push(demand);
    }

    /// Adds the demand of a fire that is already waiting.
    pub(super) fn press(&mut self, demand: Demand) {
        self.pressing.push(demand);
    }

    /// Whether there is nothing to stop or replace.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.demands.is_empty() && self.pressing.is_empty()
    }

    /// Keeps only the demands of fires that were written:
    /// a fire whose instant already had a row demands nothing.
    pub(in crate::engine) fn keep(&mut self, written: &HashSet<Uuid>) {
        self.demands.retain(|demand| written.contains(&demand.fire_id));
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.demands.extend(other.demands);
        self.pressing.extend(other.pressing);
        self.stopped += other.stopped;
    }

    /// Stops runs and replaces waiting fires as demanded.
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

    /// Stops the runs in these demands, or up to `most` of them if that is set.
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

    /// Stops the attempts of these runs on this node, and wakes the other nodes to stop theirs.
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
