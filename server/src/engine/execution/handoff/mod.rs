//! The hand-off: phase 2 of a fire. Intents that this node owns become runs; those that can start
//! at once do so in the same transaction.
//!
//! - `decision`: what becomes of an intent; pure
//! - `run`: the run that it becomes; pure

mod decision;
mod run;

use std::{
    collections::{HashMap, HashSet},
    ops::AddAssign,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use entity::fire::Verdict;
use sea_orm::ActiveEnum;
use uuid::Uuid;

pub(crate) use self::run::unmark_recovery;
pub(in crate::engine) use self::{
    decision::{Limits, Standing, past_deadline, refusal},
    run::{idempotency_key, mark_recovery},
};
use self::{
    decision::{decide, detail},
    run::new_run,
};
use super::attempt::{self, Attempt, Times};
use crate::{
    engine::{
        EngineError,
        cluster::LeaseTerm,
        core::{Bisect, Core},
        places::{Claim, NoPlace, Place},
    },
    model::definition::Known,
    store::{
        handoffs::{Current, Intent, NewRun, Start},
        holds::Hold,
    },
    target::Invocation,
    telemetry::TracedFire,
};

/// Recovery at work.
#[derive(Clone, Debug)]
pub(crate) struct Recovering {
    /// What it may still do.
    pub(in crate::engine) limits: Limits,
    /// The term under which it does so.
    pub(in crate::engine) tenure: LeaseTerm,
}

/// What became of intents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedOver {
    /// Started here.
    pub(crate) started: usize,
    /// Queued for whoever has room.
    pub(crate) queued: usize,
    /// Not run, with a verdict.
    pub(crate) refused: usize,
}

impl AddAssign for HandedOver {
    fn add_assign(&mut self, other: Self) {
        self.started += other.started;
        self.queued += other.queued;
        self.refused += other.refused;
    }
}

/// A hand-off that fails is tried this often, for about a minute: longer than a fail-over takes.
/// Then the intents are left to recovery.
const TRIES: u32 = 64;
/// Between two tries lies so much time at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// So many runs are begun before others on this thread have their turn: the claim of the next batch
/// is one of them, and the database has nothing to do until it goes on.
const BEGUN_AT_ONCE: usize = 64;

/// Hands over `intents`, all of them owned by this node, a batch in a transaction. One that fails
/// does not hold up the others, nor does one intent that the database refuses: it is separated from
/// them by halves.
pub(in crate::engine) async fn hand_over(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&Recovering>,
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
                    // It stays an intent: recovery tries again, and gives up in the end.
                    let fire = intents[one].id;
                    tracing::error!(%fire, "failed to hand over a fire: {error}");
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
    recovery: Option<&Recovering>,
) -> Result<HandedOver, EngineError> {
    let mut pause = Duration::from_millis(50);
    let mut round = 1;
    loop {
        match try_hand_over(core, intents, recovery, round > 1).await {
            Err(error) if round < TRIES && error.is_transient() => {
                tracing::warn!(intents = intents.len(), "failed to hand over: {error}");
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
    recovery: Option<&Recovering>,
    was_away: bool,
) -> Result<HandedOver, EngineError> {
    let (start, handed_from) = (core.clock.instant(), core.clock.now());
    let node = core.node_id().await;
    let tx = core.store.begin_handoff().await?;
    if let Some(Recovering { tenure, .. }) = recovery
        && (tenure.is_over(&core.clock) || !core.store.holds_lease(&tx, &tenure.fence).await?)
    {
        tx.rollback().await?;
        return Ok(HandedOver::default());
    }
    let limits = recovery.map(|recovery| recovery.limits);
    let schedules: HashSet<_> = intents.iter().map(|intent| intent.schedule_id).collect();
    let current = core.store.current_schedules(&tx, &schedules, node).await?;
    let now = core.agreed_now_in(&tx).await?;

    let mut runs = Vec::with_capacity(intents.len());
    let mut works = Vec::with_capacity(intents.len());
    let mut refused = Vec::new();
    for intent in intents {
        let schedule = current.get(&intent.schedule_id);
        let (schedule, reason) = match (decide(intent, schedule, now, limits), schedule) {
            (Ok(reason), Some(schedule)) => (schedule, reason),
            (Ok(_), None) => continue,
            (Err(decided), _) => {
                refused.push(decided);
                continue;
            }
        };
        let key = (schedule.workflow_id, schedule.workflow_version);
        let known = match core.definitions.known(&core.store, &tx, key).await? {
            Ok(known) => known,
            Err(error) => {
                // It stays an intent: recovery tries again, and gives up in the end.
                tracing::error!(fire = %intent.id, "failed to {error}");
                continue;
            }
        };
        let why = (reason, detail(intent, reason, was_away));
        runs.push(new_run(intent, schedule, &known, why, now));
        works.push((known, schedule));
    }

    let linked = core.store.start_fires_if_pending(&tx, &runs, now.into()).await?;
    core.store.decide_fires_if_pending(&tx, &refused, now.into()).await?;
    let (mut runs, works): (Vec<_>, Vec<_>) =
        runs.into_iter().zip(works).filter(|(run, _)| linked.contains(&run.id)).unzip();
    // As late as can be: by now short runs of the batch before may have ended.
    let places = start_here(core, &mut runs, &works);
    core.store.insert_fired_runs(&tx, &runs, node, now.into()).await?;
    let hold = |run: Uuid| Hold { run_id: run, attempt: 1, node_id: node, epoch: 1 };
    let starting = runs.iter().filter(|run| run.start.is_some()).map(|run| hold(run.id));
    let beginning = core.registry.starting.enter(start, starting);
    core.store.commit(tx).await?;
    let lost = beginning.lost(core).await;
    core.metrics.handed_over(intents.len(), start.elapsed());
    let handed_at = core.clock.now();
    let claimed: HashMap<_, _> = intents.iter().map(|intent| (intent.id, intent)).collect();
    for (run, (_, schedule)) in runs.iter().zip(&works) {
        let late = handed_at - run.due_at.utc();
        core.metrics.lateness(late.to_std().unwrap_or_default());
        let (started, reason) = (Verdict::Started.to_value(), run.reason.to_value());
        core.metrics.traces().fire(&TracedFire {
            id: run.id,
            namespace: &schedule.namespace,
            schedule: (run.schedule_id, &schedule.name),
            scheduled_at: run.scheduled_at.utc(),
            due_at: run.due_at.utc(),
            claimed_at: claimed.get(&run.id).map_or(handed_from, |intent| intent.claimed_at.utc()),
            handed_from,
            handed_at,
            reason: &reason,
        });
        core.metrics.fires(Some(run.schedule_id), started, reason, 1);
    }
    for fire in &refused {
        let schedule = claimed.get(&fire.id).map(|intent| intent.schedule_id);
        core.metrics.fires(schedule, fire.verdict.to_value(), fire.reason.to_value(), 1);
    }

    let mut handed = HandedOver { refused: refused.len(), ..HandedOver::default() };
    let runs = runs.into_iter().zip(places);
    for (index, ((run, place), (known, schedule))) in runs.zip(works).enumerate() {
        if index > 0 && index.is_multiple_of(BEGUN_AT_ONCE) {
            tokio::task::yield_now().await;
        }
        let Some(place) = place else {
            handed.queued += 1;
            continue;
        };
        let hold = hold(run.id);
        if lost.contains(&hold) {
            continue;
        }
        handed.started += 1;
        let task = known.task(0);
        let invocation = Invocation {
            run_id: run.id,
            attempt: 1,
            task: task.name.clone(),
            namespace: schedule.namespace.clone(),
            schedule: Some(schedule.name.clone()),
            schedule_id: Some(run.schedule_id),
            scheduled_at: Some(run.scheduled_at.utc()),
            idempotency_key: run.idempotency_key,
            traceparent: Some(attempt::traceparent(core, &hold)),
            context: run.context.unwrap_or_else(|| schedule.context.clone()),
            timeout: task.timeout(),
            kill_grace: task.kill_grace(),
        };
        let max_attempts = run.max_attempts;
        let run = Times { stands_for: run.scheduled_at.utc(), started_at: now, by_fire: true };
        attempt::spawn(core, Attempt { hold, max_attempts, known, invocation, run, place });
    }
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

/// Marks those runs as started that may start in this transaction and for which there is a place;
/// gives the places, one for each of these runs. The dispatcher alone starts runs of a group: it
/// keeps their limit and their order. And what a life that was declared dead started would be taken
/// from it at once.
fn start_here(
    core: &Core,
    runs: &mut [NewRun],
    works: &[(Arc<Known>, &Current)],
) -> Vec<Option<Place>> {
    let may = |(known, schedule): &(Arc<Known>, &Current)| {
        schedule.group_id.is_none()
            && schedule.node_is_alive
            && core.cluster.takes(&known.definition.runs_on)
            && !core.cluster.lets_others_go_first(&known.definition.runs_on)
    };
    let mut is_full = false;
    let start = |(run, work): (&mut NewRun, &(Arc<Known>, &Current))| {
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
        let (task, hard_limit) = work.0.start(core.settings.heartbeat_expiry);
        let place = place.ok()?;
        run.start = Some(Start { task, hard_limit });
        Some(place)
    };
    runs.iter_mut().zip(works).map(start).collect()
}
