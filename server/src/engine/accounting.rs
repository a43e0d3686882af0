//! What becomes of the instants that nobody claimed, when a pause ends or a timing does.
//!
//! A pause leaves the cursor where it was. Its end writes a row for each instant since (or one for
//! a range, when they are many) and moves the cursor to now, in the transaction that enables the
//! schedule again; so the ledger has no gap, and a resumed schedule never fires "missed" runs that
//! nobody asked for.
//!
//! An edit and a deletion do the same for what the old timing named up to that moment: none of it
//! runs any more, and none of it is lost.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{Reason, Verdict},
};
use sea_orm::ConnectionTrait;
use timetable::{
    Timetable, TimingError,
    misfire::{self, Entry, Fate},
};
use uuid::Uuid;

use super::{
    EngineError, allowance, calendars,
    core::{Core, new_id},
    planner::{definition, kind, plan_policy},
};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    claims::{Advance, DueSchedule, NewFire},
};

/// What ends a schedule's timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Another timing takes its place.
    Edited,
    /// The schedule goes.
    Deleted,
}

/// The rows that account for some instants, and where the cursor stands behind them.
#[derive(Clone, Debug)]
pub struct Account {
    /// In order.
    pub fires: Vec<NewFire>,
    /// The cursor.
    pub advance: Advance,
}

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
    let timetable = match timetable(timings, tx, &schedule).await? {
        Ok(timetable) => timetable,
        Err(error) => {
            return Ok(store.pause_broken(tx, schedule.id, &error.to_string(), now.into()).await?);
        }
    };
    let taken = taken(store, tx, &schedule, now).await?;
    let account = resumed(&schedule, &timetable, &taken, catch_up, now);
    write(store, tx, account, now).await?;
    store.enable(tx, schedule_id, now.into()).await?;
    Ok(())
}

/// The instants from a schedule's cursor to now that have a row already: a backfill does not wait
/// for the cursor. Where the schedule is locked, nobody writes one meanwhile.
pub async fn taken<C: ConnectionTrait>(
    store: &Store,
    connection: &C,
    schedule: &DueSchedule,
    now: DateTime<Utc>,
) -> Result<Vec<DateTime<Utc>>, StoreError> {
    let first = schedule.next_scheduled_at;
    store.instants_taken(connection, schedule.id, (first, now.into()), None).await
}

/// What the end of a pause would write, around the instants that are `taken`.
pub fn resumed(
    schedule: &DueSchedule,
    timetable: &Timetable,
    taken: &[DateTime<Utc>],
    catch_up: misfire::CatchUp,
    now: DateTime<Utc>,
) -> Account {
    let policy = misfire::Policy { catch_up, ..plan_policy(schedule) };
    let before = before_cursor(schedule);
    let entries = misfire::missed(timetable, before, now, now, &policy);
    let last = entries.last().map(|entry| entry.last.into());
    let entries = timetable::taken::without(timetable, entries, taken);
    let mut fires: Vec<NewFire> =
        entries.into_iter().map(|entry| paused_fire(schedule, entry, now)).collect();
    let cut_off = allowance::cut_off(schedule, &mut fires);
    let next = timetable.next(now.max(before));
    let (next_scheduled_at, next_fire_at, last_fire_at) = match cut_off {
        Some(fire) => (
            Some(fire.scheduled_at),
            Some(fire.due_at),
            fires.last().map(|fire| fire.last_scheduled_at),
        ),
        None => (
            next.as_ref().map(|fire| fire.at.into()),
            next.as_ref().map(|fire| timetable.due_at(fire.at).into()),
            last,
        ),
    };
    let advance = Advance {
        schedule_id: schedule.id,
        next_scheduled_at,
        next_fire_at,
        last_fire_at,
        fires: allowance::counted(&fires),
    };
    Account { fires, advance }
}

/// Accounts inside `tx` for what a schedule's timing named and nobody claimed, up to `now`. The
/// timing is over then: the cursor is taken away, and whoever comes with another one sets it.
pub async fn close(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    (schedule_id, is_paused): (Uuid, bool),
    ending: Ending,
    now: DateTime<Utc>,
) -> Result<(), EngineError> {
    let Some(schedule) = store.schedule_with_cursor(tx, schedule_id).await? else {
        return Ok(());
    };
    // What cannot be read names no instants.
    let Ok(timetable) = timetable(timings, tx, &schedule).await? else { return Ok(()) };
    let policy = misfire::Policy { catch_up: misfire::CatchUp::Skip, ..plan_policy(&schedule) };
    let before = before_cursor(&schedule);
    let taken = taken(store, tx, &schedule, now).await?;
    let missed = |after, until| {
        let entries = misfire::missed(&timetable, after, until, now, &policy);
        let last: Option<Timestamp> = entries.last().map(|entry| entry.last.into());
        (timetable::taken::without(&timetable, entries, &taken), last)
    };
    let (fires, last_fire_at) = if is_paused {
        let (entries, last) = missed(before, now);
        let fires = entries.into_iter().map(|entry| paused_fire(&schedule, entry, now)).collect();
        (fires, last)
    } else {
        // Late beyond the grace, it was missed; up to then it was somebody's to claim, until now.
        let missed_until = (now - policy.grace - TimeDelta::milliseconds(1)).max(before);
        let (waiting, last_waiting) = missed(missed_until, now);
        let (missed, last_missed) = missed(before, missed_until);
        let missed = missed.into_iter().map(|entry| {
            let why = match entry.fate {
                Fate::Suppressed => (Verdict::Skipped, Reason::Calendar),
                Fate::OutsideWindow => (Verdict::Missed, Reason::CatchUpWindow),
                Fate::Run | Fate::CatchUp | Fate::Collapsed | Fate::Missed | Fate::OverLimit => {
                    (Verdict::Missed, Reason::Outage)
                }
            };
            new_fire(&schedule, entry, why, now)
        });
        let reason = match ending {
            Ending::Edited => Reason::StaleVersion,
            Ending::Deleted => Reason::Deleted,
        };
        let waiting = waiting.into_iter().map(|entry| {
            let reason = if entry.fate == Fate::Suppressed { Reason::Calendar } else { reason };
            new_fire(&schedule, entry, (Verdict::Skipped, reason), now)
        });
        (missed.chain(waiting).collect::<Vec<NewFire>>(), last_waiting.or(last_missed))
    };
    let advance = Advance {
        schedule_id,
        next_scheduled_at: None,
        next_fire_at: None,
        last_fire_at,
        fires: 0,
    };
    write(store, tx, Account { fires, advance }, now).await
}

/// The instant behind which a timing that takes the place of another begins: now. Where the clock
/// has been stepped back, the old timing's instants are accounted for beyond that, and the new one
/// begins behind them: else it would name instants that lie in rows of the ledger already.
pub async fn begin(
    store: &Store,
    tx: &DatabaseTransaction,
    (schedule_id, last_fire_at): (Uuid, Option<Timestamp>),
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, EngineError> {
    if last_fire_at.is_none_or(|last| last.utc() <= now) {
        return Ok(now);
    }
    let past = store.last_past_instant(tx, schedule_id).await?;
    Ok(past.map_or(now, |past| now.max(past.utc())))
}

/// A schedule's timetable with its calendars, or why there is none.
pub async fn timetable<C: ConnectionTrait>(
    timings: &timetable::Cache,
    connection: &C,
    schedule: &DueSchedule,
) -> Result<Result<Timetable, TimingError>, EngineError> {
    let current = calendars::read(connection, schedule.calendars.as_ref()).await?;
    let timetable = timings.timetable(&definition(schedule));
    Ok(timetable.and_then(|plain| calendars::with(plain, schedule.calendars.as_ref(), &current)))
}

async fn write(
    store: &Store,
    tx: &DatabaseTransaction,
    Account { fires, advance }: Account,
    now: DateTime<Utc>,
) -> Result<(), EngineError> {
    let written = store.insert_fires_if_absent(tx, &fires, now.into()).await?;
    let mut advances = [advance];
    allowance::discount(&mut advances, &fires, &written);
    Ok(store.advance_cursors(tx, &advances).await?)
}

/// The instant before the first that is not accounted for.
fn before_cursor(schedule: &DueSchedule) -> DateTime<Utc> {
    schedule.next_scheduled_at.utc() - TimeDelta::milliseconds(1)
}

fn paused_fire(schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
    let why = match entry.fate {
        Fate::Run | Fate::CatchUp => (Verdict::Pending, Reason::AwaitingHandoff),
        Fate::Collapsed => (Verdict::Collapsed, Reason::Paused),
        Fate::Missed | Fate::OutsideWindow | Fate::OverLimit => (Verdict::Skipped, Reason::Paused),
        Fate::Suppressed => (Verdict::Skipped, Reason::Calendar),
    };
    new_fire(schedule, entry, why, now)
}

/// The row of an entry that nobody owns.
pub(in crate::engine) fn new_fire(
    schedule: &DueSchedule,
    entry: Entry,
    (verdict, reason): (Verdict, Reason),
    now: DateTime<Utc>,
) -> NewFire {
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
        detail: entry.calendar.as_deref().map(str::to_owned),
        claimed_by: None,
        queue_position: None,
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
