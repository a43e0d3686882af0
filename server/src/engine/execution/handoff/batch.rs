//! The decisions about all intents of one transaction.

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, Utc};
use entity::fire::Verdict;
use sea_orm::ActiveEnum;
use uuid::Uuid;

use super::{
    decision::{HandoffLimits, decide, detail},
    run::new_run,
};
use crate::{
    engine::{EngineError, core::Core},
    model::definition::CompiledDefinition,
    store::{
        DatabaseTransaction,
        handoffs::{CurrentSchedule, DecidedFire, Intent, NewRun},
    },
    telemetry::TracedFire,
};

/// The intents of one transaction, decided.
#[derive(Default)]
pub(super) struct HandoffBatch<'a> {
    /// The runs that intents become.
    pub(super) runs: Vec<NewRun>,
    /// The work that each of `runs` executes.
    pub(super) works: Vec<RunSource<'a>>,
    /// Intents that do not become runs.
    pub(super) refused: Vec<DecidedFire>,
}

/// The work that a run executes.
pub(super) struct RunSource<'a> {
    /// The definition of the workflow's version.
    pub(super) known: Arc<CompiledDefinition>,
    /// The schedule to which the fire belongs.
    pub(super) schedule: &'a CurrentSchedule,
}

/// The conditions under which intents are decided.
pub(super) struct HandoffContext {
    /// The agreed time of the nodes.
    pub(super) now: DateTime<Utc>,
    /// The limits of recovery; `None` for a first hand-off.
    pub(super) limits: Option<HandoffLimits>,
    /// Whether the database was unreachable for a time during the hand-off.
    pub(super) was_away: bool,
}

impl<'a> HandoffBatch<'a> {
    /// Decides about each of the intents.
    pub(super) async fn decide(
        core: &Core,
        tx: &DatabaseTransaction,
        intents: &[Intent],
        current: &'a HashMap<Uuid, CurrentSchedule>,
        moment: &HandoffContext,
    ) -> Result<Self, EngineError> {
        let mut batch = Self::default();
        for intent in intents {
            let schedule = current.get(&intent.schedule_id);
            let decided = decide(intent, schedule, moment.now, moment.limits);
            let (schedule, reason) = match (decided, schedule) {
                (Ok(reason), Some(schedule)) => (schedule, reason),
                (Ok(_), None) => continue,
                (Err(decided), _) => {
                    batch.refused.push(decided);
                    continue;
                }
            };
            let (workflow, version) = (schedule.workflow_id, schedule.workflow_version);
            let known = match core.definitions.known(&core.store, tx, workflow, version).await? {
                Ok(known) => known,
                Err(error) => {
                    // The fire stays an intent: recovery tries again, and eventually gives up.
                    tracing::error!(fire_id = %intent.id, %error, "failed to hand over a fire");
                    continue;
                }
            };
            let detail = detail(intent, reason, moment.was_away);
            let run = NewRun { detail, ..new_run(intent, schedule, &known, reason, moment.now) };
            batch.runs.push(run);
            batch.works.push(RunSource { known, schedule });
        }
        Ok(batch)
    }

    /// Removes the runs that do not match `keep`.
    pub(super) fn retain(&mut self, keep: impl Fn(&NewRun) -> bool) {
        let runs = std::mem::take(&mut self.runs).into_iter();
        let works = std::mem::take(&mut self.works);
        (self.runs, self.works) = runs.zip(works).filter(|(run, _)| keep(run)).unzip();
    }

    /// Counts the decided fires in the metrics, and traces them.
    pub(super) fn report(&self, core: &Core, intents: &[Intent], handed_from: DateTime<Utc>) {
        let handed_at = core.clock.now();
        let claimed: HashMap<_, _> = intents.iter().map(|intent| (intent.id, intent)).collect();
        for (run, RunSource { schedule, .. }) in self.runs.iter().zip(&self.works) {
            let late = handed_at - run.due_at.utc();
            core.metrics.lateness(late.to_std().unwrap_or_default());
            let (started, reason) = (Verdict::Started.to_value(), run.reason.to_value());
            let intent = claimed.get(&run.id);
            core.metrics.traces().fire(&TracedFire {
                id: run.id,
                namespace: &schedule.namespace,
                schedule: (run.schedule_id, &schedule.name),
                scheduled_at: run.scheduled_at.utc(),
                due_at: run.due_at.utc(),
                claimed_at: intent.map_or(handed_from, |intent| intent.claimed_at.utc()),
                handed_from,
                handed_at,
                reason: &reason,
            });
            core.metrics.fires(Some(run.schedule_id), started, reason, 1);
        }
        for fire in &self.refused {
            let schedule = claimed.get(&fire.id).map(|intent| intent.schedule_id);
            core.metrics.fires(schedule, fire.verdict.to_value(), fire.reason.to_value(), 1);
        }
    }
}
