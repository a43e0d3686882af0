//! The hand-off is the second phase of a fire, after the claim. Intents that this node owns become
//! runs. Runs that can start immediately start in the same transaction.
//!
//! - `decision`: decides whether an intent may run; no IO
//! - `run`: creates the run that an intent becomes; no IO
//! - `batch`: the decisions about the intents of one transaction
//! - `start`: starts the runs that have a place here

mod batch;
mod decision;
mod run;
mod start;

use std::{
    collections::HashSet,
    ops::AddAssign,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use uuid::Uuid;

pub(crate) use self::run::unmark_recovery;
use self::{
    batch::{HandoffBatch, HandoffContext},
    start::RunStart,
};
pub(in crate::engine) use self::{
    decision::{HandoffLimits, SchedulePrecondition, past_deadline, refusal},
    run::{idempotency_key, mark_recovery},
};
use crate::{
    engine::{
        EngineError,
        cluster::LeaseTerm,
        core::{Bisect, Core},
    },
    store::{handoffs::Intent, holds::RunLease},
};

/// The context of a hand-off by recovery.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryContext {
    /// The limits that apply to recovery.
    pub(in crate::engine) limits: HandoffLimits,
    /// The lease term under which recovery runs.
    pub(in crate::engine) lease: LeaseTerm,
}

/// The results of handing over a number of intents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedOver {
    /// Number of runs that started on this node.
    pub(crate) started: usize,
    /// Number of runs queued for any node with a free place.
    pub(crate) queued: usize,
    /// Number of intents that were refused, each with a verdict.
    pub(crate) refused: usize,
}

impl AddAssign for HandedOver {
    fn add_assign(&mut self, other: Self) {
        self.started += other.started;
        self.queued += other.queued;
        self.refused += other.refused;
    }
}

/// Maximum number of tries of a hand-off. They take about a minute, which is longer than a
/// fail-over. After that, recovery handles the intents.
const TRIES: u32 = 64;
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Hands over `intents`, all of which this node owns, one batch per transaction. A failed batch
/// does not delay the others, and bisection isolates an intent that the database refuses.
pub(in crate::engine) async fn hand_over(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&RecoveryContext>,
) -> Result<HandedOver, EngineError> {
    let mut handed = HandedOver::default();
    let mut failed = None;
    let batch = usize::try_from(core.settings.batch).unwrap_or(usize::MAX);
    let end_of = |start: usize| start.saturating_add(batch).min(intents.len());
    let starts: Vec<usize> = (0..intents.len()).step_by(batch).collect();
    let mut parts = Bisect::new(starts.into_iter().map(|start| start..end_of(start)));
    while let Some(part) = parts.pop() {
        match hand_over_batch(core, &intents[part.clone()], recovery).await {
            Ok(more) => handed += more,
            Err(error) if error.is_refusal() => {
                if let Err(one) = parts.split(part) {
                    // The fire stays an intent: recovery tries again, and eventually gives up.
                    let fire = intents[one].id;
                    tracing::error!(fire_id = %fire, %error, "failed to hand over a fire");
                }
            }
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(handed), Err)
}

async fn hand_over_batch(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&RecoveryContext>,
) -> Result<HandedOver, EngineError> {
    let mut pause = Duration::from_millis(50);
    let mut round = 1;
    loop {
        match try_hand_over(core, intents, recovery, round > 1).await {
            Err(error) if round < TRIES && error.is_transient() => {
                tracing::warn!(intents = intents.len(), %error, "failed to hand over");
                core.clock.sleep(pause).await;
                pause = (pause * 4).min(LONGEST_PAUSE);
                round += 1;
            }
            answer => return answer,
        }
    }
}

async fn try_hand_over(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&RecoveryContext>,
    was_away: bool,
) -> Result<HandedOver, EngineError> {
    let (start, handed_from) = (core.clock.instant(), core.clock.now());
    let node = core.node_id().await;
    let tx = core.store.begin_handoff().await?;
    if let Some(RecoveryContext { lease, .. }) = recovery
        && (lease.is_over(&core.clock) || !core.store.holds_lease(&tx, &lease.fence).await?)
    {
        tx.rollback().await?;
        return Ok(HandedOver::default());
    }
    let schedules: HashSet<_> = intents.iter().map(|intent| intent.schedule_id).collect();
    let current = core.store.current_schedules(&tx, &schedules, node).await?;
    let now = core.agreed_now_in(&tx).await?;
    let limits = recovery.map(|recovery| recovery.limits);
    let moment = HandoffContext { now, limits, was_away };
    let mut batch = HandoffBatch::decide(core, &tx, intents, &current, &moment).await?;

    let linked = core.store.start_fires_if_pending(&tx, &batch.runs, now.into()).await?;
    core.store.decide_fires_if_pending(&tx, &batch.refused, now.into()).await?;
    batch.retain(|run| linked.contains(&run.id));
    // Places are taken as late as possible: short runs of the previous batch may have ended by now.
    let places = batch.place(core);
    core.store.insert_fired_runs(&tx, &batch.runs, node, now.into()).await?;
    let starting = batch.runs.iter().filter(|run| run.start.is_some());
    let starting = starting.map(|run| first_hold(run.id, node));
    let beginning = core.registry.starting.enter(start, starting);
    core.store.commit(tx).await?;
    let lost = beginning.lost(core).await;
    core.metrics.handed_over(intents.len(), start.elapsed());
    batch.report(core, intents, handed_from);

    let refused = batch.refused.len();
    let begun = RunStart { node, now, places, lost: &lost };
    let handed = HandedOver { refused, ..batch.start(core, begun).await };
    drop(beginning);
    if !lost.is_empty() {
        core.slot_freed();
    }
    if handed.queued > 0 {
        core.backlog.store(true, Ordering::Relaxed);
        core.signals.wake_dispatcher();
    }
    Ok(handed)
}

/// The hold of a run's first attempt on this node.
fn first_hold(run_id: Uuid, node_id: Uuid) -> RunLease {
    RunLease { run_id, attempt: 1, node_id, epoch: 1 }
}
