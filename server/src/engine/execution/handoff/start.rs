//! Starts the runs of a batch for which this node has a place.

use std::{collections::HashSet, sync::Arc};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    HandedOver,
    batch::{HandoffBatch, RunSource},
    first_hold,
};
use crate::{
    engine::{
        core::Core,
        execution::attempt::{self, Attempt, RunInstants},
        places::{Claim, HeldPlace, NoPlace},
    },
    store::{
        handoffs::{NewRun, StartedRun},
        holds::RunLease,
    },
    target::Invocation,
};

/// Number of runs that are started before other tasks of this thread get a turn.
/// One of these tasks is the claim of the next batch, and the database is idle until it continues.
const BEGUN_AT_ONCE: usize = 64;

/// The values that the runs of a batch need when they start after the commit.
pub(super) struct RunStart<'a> {
    /// The key of this node.
    pub(super) node: Uuid,
    /// When the runs start.
    pub(super) now: DateTime<Utc>,
    /// The place of each run; `None` if the run does not start on this node.
    pub(super) places: Vec<Option<HeldPlace>>,
    /// Attempts that this node has lost again before their start.
    pub(super) lost: &'a HashSet<RunLease>,
}

impl HandoffBatch<'_> {
    /// Marks runs as started that may start in this transaction and for which there is a place.
    /// Returns one entry for each run.
    /// Runs of a group are left to the dispatcher, because it enforces the group's limit and order.
    /// If this node was declared dead, nothing starts: another node would take the run at once.
    pub(super) fn place(&mut self, core: &Core) -> Vec<Option<HeldPlace>> {
        let may = |RunSource { known, schedule }: &RunSource<'_>| {
            schedule.group_id.is_none()
                && schedule.node_is_alive
                && core.cluster.takes(&known.definition.runs_on)
                && !core.cluster.lets_others_go_first(&known.definition.runs_on)
        };
        let mut is_full = false;
        let start = |(run, work): (&mut NewRun, &RunSource<'_>)| {
            if is_full || !may(work) {
                return None;
            }
            let claim = Claim {
                origin: run.origin.clone(),
                schedule: Some(run.schedule_id),
                namespace: run.namespace_id,
            };
            let place = core.place(&claim);
            is_full = matches!(place, Err(NoPlace::Full));
            let (task, hard_limit) = work.known.start(core.settings.heartbeat_expiry);
            let place = place.ok()?;
            run.start = Some(StartedRun { task, hard_limit });
            Some(place)
        };
        self.runs.iter_mut().zip(&self.works).map(start).collect()
    }

    /// Starts the attempts of the runs that have a place.
    pub(super) async fn start(self, core: &Arc<Core>, begun: RunStart<'_>) -> HandedOver {
        let mut handed = HandedOver::default();
        let runs = self.runs.into_iter().zip(begun.places);
        for (index, ((run, place), work)) in runs.zip(self.works).enumerate() {
            if index > 0 && index.is_multiple_of(BEGUN_AT_ONCE) {
                tokio::task::yield_now().await;
            }
            let Some(place) = place else {
                handed.queued += 1;
                continue;
            };
            let hold = first_hold(run.id, begun.node);
            if begun.lost.contains(&hold) {
                continue;
            }
            handed.started += 1;
            let max_attempts = run.max_attempts;
            let stands_for = run.scheduled_at.utc();
            let times = RunInstants { stands_for, started_at: begun.now, by_fire: true };
            let invocation = invocation(core, run, &work, &hold);
            let (known, run) = (work.known, times);
            attempt::spawn(core, Attempt { hold, max_attempts, known, invocation, run, place });
        }
        handed
    }
}

fn invocation(core: &Core, run: NewRun, work: &RunSource<'_>, hold: &RunLease) -> Invocation {
    let RunSource { known, schedule } = work;
    let task = known.task(0);
    Invocation {
        run_id: run.id,
        attempt: hold.attempt,
        task: task.name.clone(),
        namespace: schedule.namespace.clone(),
        namespace_id: run.namespace_id,
        priority: run.priority,
        schedule: Some(schedule.name.clone()),
        schedule_id: Some(run.schedule_id),
        schedule_version: Some(schedule.version),
        scheduled_at: Some(run.scheduled_at.utc()),
        idempotency_key: run.idempotency_key,
        traceparent: Some(attempt::traceparent(core, hold)),
        context: run.context.unwrap_or_else(|| schedule.context.clone()),
        timeout: task.timeout(),
        kill_grace: task.kill_grace(),
    }
}
