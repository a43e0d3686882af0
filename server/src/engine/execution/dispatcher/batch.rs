//! The runs that the dispatcher takes in one transaction.

use std::{collections::HashSet, sync::Arc};

use chrono::{DateTime, Utc};
use entity::{fire, run};
use sea_orm::ActiveEnum;
use uuid::Uuid;

use super::QueueScanOutcome;
use crate::{
    engine::{
        EngineError,
        core::Core,
        execution::attempt::{self, Attempt, RunInstants},
        places::{Claim, HeldPlace, NoPlace},
    },
    model::definition::{CompiledDefinition, Task},
    store::{DatabaseTransaction, holds::RunLease, queue::WaitingRun, runs::TakenRun},
    target::Invocation,
};

/// Locked runs, and the decision about each of them.
#[derive(Default)]
pub(super) struct DispatchBatch {
    /// Runs that start on this node.
    placed: Vec<PlacedRun>,
    /// For each run of `placed`, how this node takes it.
    takes: Vec<TakenRun>,
    /// Runs whose definition cannot be read, each with the reason.
    failed: Vec<(Uuid, String)>,
    /// Runs that have waited beyond their deadline.
    late: Vec<WaitingRun>,
}

/// A run for which this node has a place.
struct PlacedRun {
    run: WaitingRun,
    known: Arc<CompiledDefinition>,
    place: HeldPlace,
}

/// The values that attempts need when they start after the commit.
pub(super) struct AttemptStart<'a> {
    /// The key of this node.
    pub(super) node: Uuid,
    /// When the attempts start.
    pub(super) now: DateTime<Utc>,
    /// Attempts that this node has lost again before their start.
    pub(super) lost: &'a HashSet<RunLease>,
}

impl DispatchBatch {
    /// Finds a place for each waiting run until none is left. Records refused holders in `looked`.
    pub(super) async fn place(
        core: &Core,
        tx: &DatabaseTransaction,
        waiting: Vec<WaitingRun>,
        late: Vec<WaitingRun>,
        looked: &mut QueueScanOutcome,
    ) -> Result<Self, EngineError> {
        let mut batch = Self { late, ..Self::default() };
        for run in waiting {
            let (workflow, version) = (run.workflow_id, run.workflow_version);
            let known = match core.definitions.known(&core.store, tx, workflow, version).await? {
                Ok(known) => known,
                Err(error) => {
                    tracing::error!(run_id = %run.id, %error, "failed to read the work of a run");
                    batch.failed.push((run.id, format!("failed to {error}")));
                    continue;
                }
            };
            let claim = Claim {
                origin: known.origin(run.namespace_id),
                schedule: run.schedule_id,
                namespace: run.namespace_id,
            };
            let place = match core.place(&claim) {
                Ok(place) => place,
                Err(NoPlace::Full) => {
                    looked.is_full = true;
                    break;
                }
                Err(NoPlace::Share(holder)) => {
                    if !looked.refused.contains(&holder) {
                        looked.refused.push(holder);
                    }
                    continue;
                }
            };
            let (task, hard_limit) = known.start(core.settings.heartbeat_expiry);
            let (attempt, epoch) = (run.attempt + 1, run.epoch + 1);
            batch.takes.push(TakenRun { run_id: run.id, task, attempt, epoch, hard_limit });
            batch.placed.push(PlacedRun { run, known, place });
        }
        Ok(batch)
    }

    /// Number of runs that the batch changes.
    pub(super) fn len(&self) -> usize {
        self.failed.len() + self.late.len() + self.takes.len()
    }

    /// Writes the decisions of the batch.
    pub(super) async fn write(
        &self,
        core: &Core,
        tx: &DatabaseTransaction,
        node: Uuid,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let late: Vec<_> = self.late.iter().map(|run| (run.id, run.scheduled_at)).collect();
        core.store.fail_locked_runs(tx, &self.failed, now.into()).await?;
        core.store.skip_locked_runs(tx, &late, now.into()).await?;
        core.store.take_locked_runs(tx, &self.takes, node, now.into()).await?;
        Ok(())
    }

    /// The holds of the attempts that start on this node.
    pub(super) fn holds(&self, node: Uuid) -> impl Iterator<Item = RunLease> {
        self.takes.iter().map(move |take| hold(take, node))
    }

    /// Counts the committed runs in the metrics, and wakes the services that wait for them.
    pub(super) fn report(&self, core: &Core) {
        for run in &self.late {
            let (skipped, deadline) = (fire::Verdict::Skipped, fire::Reason::Deadline);
            core.metrics.fires(run.schedule_id, skipped.to_value(), deadline.to_value(), 1);
        }
        if !(self.late.is_empty() && self.failed.is_empty()) {
            core.run_settled();
        }
        if core.backfills.has_any(self.failed.iter().map(|(run, _)| *run)) {
            core.signals.wake_backfill();
        }
    }

    /// Starts the attempts, except for the lost ones.
    pub(super) fn start(self, core: &Arc<Core>, begun: AttemptStart<'_>) {
        for (PlacedRun { run, known, place }, take) in self.placed.into_iter().zip(self.takes) {
            let hold = hold(&take, begun.node);
            if begun.lost.contains(&hold) {
                continue;
            }
            let max_attempts = run.max_attempts;
            let times = RunInstants {
                by_fire: run.trigger == run::Trigger::Schedule,
                stands_for: run.scheduled_at.utc(),
                started_at: run.started_at.map_or(begun.now, |at| at.utc()),
            };
            let invocation = invocation(core, run, known.task(0), &hold);
            let run = times;
            attempt::spawn(core, Attempt { hold, max_attempts, known, invocation, run, place });
        }
    }
}

fn hold(take: &TakenRun, node_id: Uuid) -> RunLease {
    RunLease { run_id: take.run_id, attempt: take.attempt, node_id, epoch: take.epoch }
}

fn invocation(core: &Core, run: WaitingRun, task: &Task, hold: &RunLease) -> Invocation {
    Invocation {
        run_id: run.id,
        attempt: hold.attempt,
        task: task.name.clone(),
        namespace: run.namespace,
        namespace_id: run.namespace_id,
        priority: run.priority,
        schedule: run.schedule,
        schedule_id: run.schedule_id,
        schedule_version: run.schedule_version,
        // For a manual run, this is the requested instant or, without one, the time of the request.
        // A run that repeats it has the same key and the same value here.
        scheduled_at: Some(run.scheduled_at.utc()),
        idempotency_key: run.idempotency_key,
        traceparent: Some(attempt::traceparent(core, hold)),
        context: run.context,
        timeout: task.timeout(),
        kill_grace: task.kill_grace(),
    }
}
