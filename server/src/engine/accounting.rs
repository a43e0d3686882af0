//! What becomes of the fires that fell into a pause, when it ends.
//!
//! A pause leaves the cursor where it was. Its end writes a row for each instant since (or one for
//! a range, when they are many) and moves the cursor to now, in the transaction that enables the
//! schedule again; so the ledger has no gap, and a resumed schedule never fires "missed" runs that
//! nobody asked for.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use entity::fire::{Reason, Verdict};
use sea_orm::DatabaseTransaction;
use timetable::misfire::{self, Entry, Fate};
use uuid::Uuid;

use super::{
    EngineError,
    core::{Core, new_id},
    planner::{definition, kind, plan_policy},
};
use crate::store::{
    Store,
    claims::{Advance, DueSchedule, NewFire},
};

/// Ends a schedule's pause inside `tx`: accounts for the instants since the cursor by `catch_up`
/// and enables it. Fires that are to run become intents that the planner takes up: wake it after
/// the commit.
pub async fn resume(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    schedule_id: Uuid,
    catch_up: misfire::CatchUp,
    now: DateTime<Utc>,
) -> Result<(), EngineError> {
    let Some(schedule) = store.lock_paused_schedule(tx, schedule_id).await? else {
        return Ok(());
    };
    let timetable = match timings.timetable(&definition(&schedule)) {
        Ok(timetable) => timetable,
        Err(error) => {
            return Ok(store.pause_broken(tx, schedule.id, &error.to_string(), now.into()).await?);
        }
    };
    let policy = misfire::Policy { catch_up, ..plan_policy(&schedule) };
    let cursor = schedule.next_scheduled_at.utc() - TimeDelta::milliseconds(1);
    let entries = if cursor < now {
        misfire::missed(&timetable, cursor, now, now, &policy)
    } else {
        Vec::new()
    };
    let fires: Vec<NewFire> =
        entries.into_iter().map(|entry| paused_fire(&schedule, entry, now)).collect();
    store.insert_fires_if_absent(tx, &fires, now.into()).await?;

    let next = timetable.next(now.max(cursor));
    let advance = Advance {
        schedule_id,
        next_scheduled_at: next.as_ref().map(|fire| fire.at.into()),
        next_fire_at: next.as_ref().map(|fire| timetable.due_at(fire.at).into()),
        last_fire_at: fires.last().map(|fire| fire.last_scheduled_at),
    };
    store.advance_cursors(tx, &[advance]).await?;
    store.enable(tx, schedule_id, now.into()).await?;
    Ok(())
}

fn paused_fire(schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
    let (verdict, reason) = match entry.fate {
        Fate::Run | Fate::CatchUp => (Verdict::Pending, Reason::AwaitingHandoff),
        Fate::Collapsed => (Verdict::Collapsed, Reason::Paused),
        Fate::Missed | Fate::OutsideWindow | Fate::OverLimit => (Verdict::Skipped, Reason::Paused),
    };
    NewFire {
        id: new_id(now),
        namespace_id: schedule.namespace_id,
        schedule_id: schedule.id,
        schedule_version: schedule.version,
        scheduled_at: entry.fire.at.into(),
        due_at: entry.due_at.into(),
        last_scheduled_at: entry.last.into(),
        count: i64::try_from(entry.count).unwrap_or(i64::MAX),
        kind: kind(entry.fire.kind),
        verdict,
        reason,
        detail: None,
        claimed_by: None,
    }
}

/// Resumes the schedules whose pause was to end by now; says how many those were. One that
/// cannot be resumed holds up no other.
pub(super) async fn resume_due(core: &Arc<Core>, now: DateTime<Utc>) -> Result<usize, EngineError> {
    let mut resumed = 0;
    for schedule in core.store.pauses_over(now.into()).await? {
        match resume_if_over(core, schedule, now).await {
            Ok(true) => resumed += 1,
            Ok(false) => {}
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => tracing::error!(%schedule, "failed to end a pause: {error}"),
        }
    }
    Ok(resumed)
}

async fn resume_if_over(
    core: &Arc<Core>,
    schedule: Uuid,
    now: DateTime<Utc>,
) -> Result<bool, EngineError> {
    let tx = core.store.begin().await?;
    // Since it was found, somebody may have given the pause another end, or none.
    if !core.store.lock_pause_if_over(&tx, schedule, now.into()).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    resume(&core.store, &core.timings, &tx, schedule, misfire::CatchUp::Skip, now).await?;
    core.store.commit(tx).await?;
    Ok(true)
}
