//! Advances one backfill in one transaction: records runs that have ended, and starts new ones.
//!
//! The transaction first locks the schedule's row, so that no planner writes ledger rows
//! for the same instants in the meantime.
//! Then it locks the backfill's row, so that its state cannot change.

use chrono::{DateTime, Utc};
use entity::{
    Timestamp,
    backfill::{self, State},
    backfill_fire, run, schedule,
};
use sea_orm::Set;
use uuid::Uuid;

use super::{
    choose::{ChosenFires, LOOKED_AT, choose, enough_for},
    survey,
};
use crate::{
    engine::{EngineError, cluster::LeaseTerm, core::Core},
    model::{BadInput, check, laid_over},
    store::{
        DatabaseTransaction,
        backfill_runs::BackfillRuns,
        backfills::{EndedFire, FireAtWork, OpenBackfill},
        retention::FireKey,
        schedules, workflows,
    },
};

/// The results of a backfill's turn.
#[derive(Debug, Default)]
pub(super) struct TurnOutcome {
    /// Number of fires whose runs have settled.
    pub(super) settled: usize,
    /// Number of runs queued.
    pub(super) started: usize,
    /// Number of these runs that wrote the ledger row of their instant.
    pub(super) fires: usize,
    /// Number of fires that were no longer needed.
    pub(super) passed_over: usize,
    /// Whether the backfill paused itself.
    pub(super) paused: bool,
    /// Whether this was the backfill's last turn.
    pub(super) finished: bool,
    /// The live runs of the backfill.
    pub(super) alive: Vec<Uuid>,
    /// Number of runs that were asked to stop.
    pub(super) stopped: usize,
    /// Whether the backfill needs another turn at once.
    pub(super) again: bool,
    /// Whether the schedule became due during the turn.
    /// The planner skips locked schedules, so it must be woken.
    pub(super) was_in_the_way: bool,
}

impl TurnOutcome {
    /// Whether the turn has written anything to commit.
    fn has_written(&self) -> bool {
        let Self { settled, started, fires, passed_over, paused, finished, stopped, again, .. } =
            *self;
        settled + started + fires + passed_over + stopped > 0 || paused || finished || again
    }
}

/// Takes a backfill's turn.
/// Does nothing if the backfill or the lease term has ended in the meantime.
pub(super) async fn take(
    core: &Core,
    lease: &LeaseTerm,
    open: OpenBackfill,
    now: DateTime<Utc>,
) -> Result<Option<(backfill::Model, TurnOutcome)>, EngineError> {
    let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(None) };
    let schedule = schedules::lock(&tx, open.schedule_id).await?;
    let found = core.store.lock_backfill(&tx, open.id).await?;
    let Some(mut backfill) = found.filter(|backfill| backfill.finished_at.is_none()) else {
        tx.rollback().await?;
        return Ok(None);
    };

    let at_work = core.store.fires_at_work(&tx, backfill.id).await?;
    let ended: Vec<EndedFire> = at_work.iter().filter_map(|fire| end_of(fire, now)).collect();
    core.store.end_fires(&tx, backfill.id, &ended).await?;
    let alive: Vec<&FireAtWork> =
        at_work.iter().filter(|fire| end_of(fire, now).is_none()).collect();
    let mut taken = TurnOutcome {
        settled: ended.len(),
        alive: alive.iter().map(|fire| fire.run_id).collect(),
        ..TurnOutcome::default()
    };

    let mut left = true;
    match (backfill.state, &schedule) {
        (State::Running | State::Paused, None) => {
            // Deleting a schedule stops its backfills.
            // A backfill that the deletion missed is stopped here.
            let columns = stopped("carillon", "the schedule was deleted", now);
            core.store.update_locked_backfill(&tx, backfill.id, columns).await?;
            let detail = "the schedule was deleted";
            core.store.cancel_pending_fires(&tx, backfill.id, detail, now.into()).await?;
            backfill.state = State::Cancelled;
            taken.again = true;
        }
        (State::Running, Some(schedule)) => {
            left = start(core, &tx, &backfill, schedule, now, &mut taken).await?;
        }
        (State::Paused, Some(_)) => {
            left = !core.store.next_fires(&tx, backfill.id, 1).await?.is_empty();
        }
        (State::Cancelled | State::Completed, _) => left = false,
    }
    if backfill.state == State::Cancelled {
        taken.stopped = stop_runs(core, &tx, &backfill, &alive, now).await?;
        // Queued runs have ended with this write, which the next turn records. Runs that another
        // transaction has locked wait for the next round: it may keep them for a while.
        taken.again |= taken.stopped > 0;
    }
    if !left && taken.alive.is_empty() {
        taken.finished = true;
        let state = match backfill.state {
            State::Cancelled => State::Cancelled,
            State::Running | State::Paused | State::Completed => State::Completed,
        };
        let columns = backfill::ActiveModel {
            state: Set(state),
            finished_at: Set(Some(now.into())),
            ..backfill::ActiveModel::default()
        };
        core.store.update_locked_backfill(&tx, backfill.id, columns).await?;
    }
    // The runs are watched before they can settle, because
    // the node that settles them checks the watch.
    core.backfills.add(taken.alive.iter().copied());
    if taken.has_written() {
        core.store.commit(tx).await?;
    } else {
        // Roll back instead of committing: a commit would
        // notify all followers and wait for the disk.
        tx.rollback().await?;
    }
    let due = schedule.filter(|schedule| schedule.enabled).and_then(|row| row.next_fire_at);
    taken.was_in_the_way = due.is_some_and(|due| due.utc() <= core.clock.now());
    Ok(Some((backfill, taken)))
}

/// Asks those runs of a cancelled backfill to stop that were not asked before and that no other
/// transaction has locked. Returns their number.
async fn stop_runs(
    core: &Core,
    tx: &DatabaseTransaction,
    backfill: &backfill::Model,
    alive: &[&FireAtWork],
    now: DateTime<Utc>,
) -> Result<usize, EngineError> {
    let unasked = alive.iter().filter(|fire| fire.cancel_requested_at.is_none());
    let unasked: Vec<Uuid> = unasked.map(|fire| fire.run_id).collect();
    let by = backfill.cancelled_by.as_deref().unwrap_or("carillon");
    let why = backfill.cancel_reason.as_deref().unwrap_or("its backfill was cancelled");
    let asked = core.store.cancel_if_live_and_free(tx, &unasked, by, why, now.into()).await?;
    Ok(usize::try_from(asked).unwrap_or(usize::MAX))
}

/// Starts as many runs as there is room for. Returns whether some are left.
async fn start(
    core: &Core,
    tx: &DatabaseTransaction,
    backfill: &backfill::Model,
    schedule: &schedule::Model,
    now: DateTime<Utc>,
    taken: &mut TurnOutcome,
) -> Result<bool, EngineError> {
    let concurrency = usize::try_from(backfill.concurrency).unwrap_or(1);
    let room = concurrency.saturating_sub(taken.alive.len());
    if room == 0 {
        return Ok(true);
    }
    let mut next = look(core, tx, backfill, schedule, room, enough_for(room), now).await?;
    if next.runs.is_empty() && !next.ended.is_empty() && next.again {
        // Many instants have run in the meantime, so the backfill skips them in larger steps.
        next = look(core, tx, backfill, schedule, room, LOOKED_AT, now).await?;
    }

    if !next.runs.is_empty() {
        match runs_of(core, tx, backfill, schedule).await? {
            Ok(of) => {
                let written =
                    core.store.insert_backfilled_fires(tx, &of, &next.runs, now.into()).await?;
                let others = next.runs.iter().filter(|run| run.fire_id != Some(run.id));
                let others = others.filter_map(|run| {
                    Some(FireKey { id: run.fire_id?, scheduled_at: run.scheduled_at })
                });
                let there = core.store.hold_fires(tx, &others.collect::<Vec<_>>()).await?;
                let before = next.runs.len();
                next.runs.retain(|run| match run.fire_id {
                    Some(fire) if fire == run.id => written.contains(&fire),
                    Some(fire) => there.contains(&fire),
                    None => true,
                });
                // The row of an instant was written
                // or removed concurrently, so another turn is needed.
                next.again |= next.runs.len() < before;
                core.store.start_backfill_runs(tx, &of, &next.runs, now.into()).await?;
                taken.fires = written.len();
            }
            Err(why) => {
                // No run can start until an operator removes the cause, so no fire is used up.
                tracing::error!(backfill_id = %backfill.id, error = %why, "a backfill was paused");
                core.store.update_locked_backfill(tx, backfill.id, paused(why, now)).await?;
                next.runs.clear();
                (next.exhausted, next.again, taken.paused) = (false, false, true);
            }
        }
    }
    core.store.end_fires(tx, backfill.id, &next.ended).await?;
    taken.started = next.runs.len();
    taken.passed_over = next.ended.len();
    taken.again |= next.again;
    if next.waits {
        // The flag is set before the schedule is unlocked,
        // because a node that claims it checks the flag.
        core.backfills.await_claim();
    }
    taken.alive.extend(next.runs.iter().map(|run| run.id));
    Ok(!next.exhausted || next.again)
}

/// The values that the runs of a turn share, or the reason why no run can start now.
async fn runs_of(
    core: &Core,
    tx: &DatabaseTransaction,
    backfill: &backfill::Model,
    schedule: &schedule::Model,
) -> Result<Result<BackfillRuns, String>, EngineError> {
    let workflow_id = schedule.workflow_id;
    let version = current_version(tx, workflow_id).await?;
    let known = match core.definitions.known(&core.store, tx, workflow_id, version).await? {
        Ok(known) => known,
        Err(error) => return Ok(Err(format!("failed to {error}"))),
    };
    // The schedule's context may have grown since the backfill was requested.
    let context = laid_over(&schedule.context, backfill.context.as_ref());
    if let Err(BadInput { problem, help, .. }) = check::context("context", &context) {
        let what = "the schedule's context with the backfill's over it";
        return Ok(Err(format!("{what} {problem}; {help}")));
    }
    Ok(Ok(BackfillRuns {
        backfill_id: backfill.id,
        namespace_id: backfill.namespace_id,
        schedule_id: schedule.id,
        schedule_version: schedule.version,
        workflow_id,
        workflow_version: version,
        max_attempts: known.definition.max_attempts(),
        runs_on: known.definition.asked_tags(),
        origin: known.origin(backfill.namespace_id).map(|origin| origin.to_string()),
        context,
        group_id: schedule.group_id,
        priority: schedule.priority,
        node_id: core.node_id().await,
    }))
}

/// The columns of a backfill when it pauses itself.
fn paused(why: String, now: DateTime<Utc>) -> backfill::ActiveModel {
    backfill::ActiveModel {
        state: Set(State::Paused),
        paused_by: Set(Some("carillon".to_owned())),
        paused_at: Set(Some(now.into())),
        paused_reason: Set(Some(why)),
        ..backfill::ActiveModel::default()
    }
}

/// Decides about up to `most` of the waiting fires.
async fn look(
    core: &Core,
    tx: &DatabaseTransaction,
    backfill: &backfill::Model,
    schedule: &schedule::Model,
    room: usize,
    most: usize,
    now: DateTime<Utc>,
) -> Result<ChosenFires, EngineError> {
    let mut waiting = core.store.next_fires(tx, backfill.id, most + 1).await?;
    let is_all = waiting.len() <= most;
    waiting.truncate(most);
    let instants: Vec<Timestamp> = waiting.iter().map(|fire| fire.scheduled_at).collect();
    let facts = survey(&core.store, tx, &core.timings, schedule, &instants).await?;
    let others = core.store.instants_at_work(tx, schedule.id, &instants).await?;
    Ok(choose(&waiting, is_all, &facts, &others, backfill, room, now))
}

/// The outcome of a fire whose run is no longer live; `None` if the run is live.
fn end_of(fire: &FireAtWork, now: DateTime<Utc>) -> Option<EndedFire> {
    let (state, detail) = match fire.state {
        Some(run::State::Queued | run::State::Running | run::State::Retrying) => return None,
        Some(run::State::Succeeded) => (backfill_fire::State::Succeeded, None),
        Some(run::State::Failed | run::State::TimedOut) => (backfill_fire::State::Failed, None),
        Some(run::State::Cancelled) => (backfill_fire::State::Cancelled, None),
        None => {
            let gone = "its run has been removed".to_owned();
            (backfill_fire::State::Failed, Some(gone))
        }
    };
    let at = fire.finished_at.unwrap_or(now.into());
    Some(EndedFire { position: fire.position, state, detail, at })
}

/// The columns of a backfill when it is stopped on request.
pub(crate) fn stopped(by: &str, reason: &str, now: DateTime<Utc>) -> backfill::ActiveModel {
    backfill::ActiveModel {
        state: Set(State::Cancelled),
        paused_by: Set(None),
        paused_at: Set(None),
        paused_reason: Set(None),
        cancelled_by: Set(Some(by.to_owned())),
        cancel_reason: Set(Some(reason.to_owned())),
        cancelled_at: Set(Some(now.into())),
        ..backfill::ActiveModel::default()
    }
}

/// The version of a workflow with which new runs start.
/// It is 0, which does not exist, if the workflow is gone.
async fn current_version(tx: &DatabaseTransaction, workflow: Uuid) -> Result<i32, EngineError> {
    let found = workflows::by_ids(tx, &[workflow]).await?.pop();
    Ok(found.filter(|row| row.deleted_at.is_none()).map_or(0, |row| row.version))
}
