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
    store::{DatabaseTransaction, clearing::Way},
};

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

    fn way(&self) -> Way {
        let at = self.scheduled_at.utc().to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let word = match self.others {
            Others::Leave => "waits",
            Others::Cancel => "cancel_other",
            Others::Terminate => "terminate_other",
        };
        Way {
            schedule_id: self.schedule_id,
            fire_id: self.fire_id,
            reason: format!("overlap: {word}, for fire {} of {at}", self.fire_id),
        }
    }
}

/// The demands of one transaction's fires.
#[derive(Debug, Default)]
pub(in crate::engine) struct Clearing {
    demands: Vec<Demand>,
}

/// What a transaction has stopped. It is told to the attempts after the commit.
#[derive(Debug, Default)]
pub(in crate::engine) struct Cleared {
    cancelled: HashSet<Uuid>,
    terminated: HashSet<Uuid>,
}

impl Clearing {
    pub(in crate::engine) fn add(&mut self, demands: impl IntoIterator<Item = Demand>) {
        self.demands.extend(demands);
    }

    /// Keeps the demands of the fires that were written: one whose slot was taken asks nothing.
    pub(in crate::engine) fn keep(&mut self, written: &HashSet<Uuid>) {
        self.demands.retain(|demand| written.contains(&demand.fire_id));
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.demands.extend(other.demands);
    }

    /// Writes what is demanded.
    pub(in crate::engine) async fn carry_out(
        &self,
        core: &Core,
        tx: &DatabaseTransaction,
        now: DateTime<Utc>,
    ) -> Result<Cleared, EngineError> {
        let ways = |others| {
            let demands = self.demands.iter().filter(move |demand| demand.others == others);
            demands.map(Demand::way).collect::<Vec<_>>()
        };
        let replaced = self.demands.iter().filter(|demand| demand.replaces_waiting);
        let replaced: Vec<_> =
            replaced.map(|demand| (demand.schedule_id, demand.fire_id)).collect();
        core.store.replace_waiting(tx, &replaced, now.into()).await?;
        Ok(Cleared {
            cancelled: core.store.cancel_live(tx, &ways(Others::Cancel), now.into()).await?,
            terminated: core.store.terminate_live(tx, &ways(Others::Terminate), now.into()).await?,
        })
    }
}

impl Cleared {
    pub(super) fn has_any(&self) -> bool {
        !(self.cancelled.is_empty() && self.terminated.is_empty())
    }

    /// Stops the attempts of this node that are affected, and wakes the other nodes for theirs.
    pub(in crate::engine) fn announce(&self, core: &Core) {
        if self.has_any() {
            core.signals.wake_canceller();
        }
        if !self.terminated.is_empty() {
            core.stop_held(StopReason::Lost, |hold| self.terminated.contains(&hold.run_id));
        }
        if self.has_any() {
            core.run_settled();
        }
    }
}
