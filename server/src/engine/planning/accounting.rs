//! What becomes of the instants that nobody claimed when a pause ends.
//!
//! A pause leaves the cursor where it was. Its end writes a row for each instant since (or one for
//! a range, when they are many) and moves the cursor behind them, and enables the schedule again in
//! the transaction that writes the last of them; so the ledger has no gap, and a resumed schedule
//! never fires "missed" runs that nobody asked for. A pause that was to end at some moment ends
//! there, however late somebody comes to it: what comes from then on is claimed like anything that
//! fell due while nobody was there.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{MadeUpFor, Reason, Verdict},
};
use sea_orm::ConnectionTrait;
use timetable::{
    Timetable, TimingError,
    misfire::{self, Entry, Fate},
};
use uuid::Uuid;

use super::{
    allowance, gap,
    planner::{advance, definition, kind, plan_policy},
};
use crate::{
    engine::{EngineError, core::Core, execution::handoff::past_deadline},
    model::calendars,
    random::new_id,
    store::{
        DatabaseTransaction, Store, StoreError,
        claims::{Advance, DueSchedule, NewFire},
    },
};

/// The rows that account for some instants, and where the cursor stands behind them.
#[derive(Clone, Debug)]
pub struct Account {
    /// In order.
    pub fires: Vec<NewFire>,
    /// The cursor.
    pub advance: Advance,
}

/// So many rows one transaction writes at the end of a pause, or a few more; the rest is the next
/// one's.
const MAX_ROWS: usize = 1_000;

/// How far the end of a pause has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many rows were written.
    pub rows: usize,
    /// Whether it is over; else there is more to account for, and the schedule is paused still.
    pub is_done: bool,
}

/// Goes on with the end of a schedule's pause inside `tx`: accounts for the instants that fell into
/// it by `catch_up`, and enables the schedule behind the last of them. Fires that are to run become
/// intents that the planner takes up: wake it after the commit.
pub async fn resume(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    schedule_id: Uuid,
    catch_up: misfire::CatchUp,
    now: DateTime<Utc>,
) -> Result<Progress, EngineError> {
    let done = |rows| Progress { rows, is_done: true };
    let Some(schedule) = store.lock_paused_schedule(tx, schedule_id).await? else {
        return Ok(done(0));
    };
    let timetable = match timetable(timings, tx, &schedule).await? {
        Ok(timetable) => timetable,
        Err(error) => {
            store.pause_broken(tx, schedule.id, &error.to_string(), now.into()).await?;
            return Ok(done(0));
        }
    };
    let mut end = PauseEnd::new(schedule, timetable, now);
    let mut rows = 0;
    while !end.is_done() && rows < MAX_ROWS {
        let account = end.next_part(store, tx, catch_up).await?;
        rows += account.fires.len();
        write(store, tx, account, now).await?;
    }
    if !end.is_done() {
        return Ok(Progress { rows, is_done: false });
    }
    store.enable(tx, schedule_id, now.into()).await?;
    Ok(done(rows))
}

/// What the end of a pause writes, part by part.
///
/// It accounts for what fell into the pause and for nothing else: where the pause was to end by
/// itself and that moment has passed, the cursor stands at the first instant from there on, and the
/// next claim asks the schedule's own policies about it.
#[derive(Clone, Debug)]
pub struct PauseEnd {
    /// As the parts leave it.
    schedule: DueSchedule,
    timetable: Timetable,
    now: DateTime<Utc>,
    /// The last instant that may have fallen into the pause.
    through: DateTime<Utc>,
    /// The next instant behind what is accounted for; none if none is left.
    cursor: Option<Timestamp>,
    is_done: bool,
}

impl PauseEnd {
    /// The end of that schedule's pause at `now`.
    pub fn new(schedule: DueSchedule, timetable: Timetable, now: DateTime<Utc>) -> Self {
        let through = paused_through(&schedule, now);
        let cursor = Some(schedule.next_scheduled_at);
        Self { schedule, timetable, now, through, cursor, is_done: false }
    }

    /// Whether all of it is accounted for.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the next part is older than the catch-up window, and so the same however the
    /// schedule is resumed.
    pub fn is_old(&self) -> bool {
        let window = self.now - plan_policy(&self.schedule).window;
        !self.is_done && before_cursor(&self.schedule) < window.min(self.through)
    }

    /// The next instant behind what is accounted for; none if none is left.
    pub fn cursor(&self) -> Option<DateTime<Utc>> {
        self.cursor.map(Timestamp::utc)
    }

    /// The next part, around the instants that have a row already.
    pub async fn next_part<C: ConnectionTrait>(
        &mut self,
        store: &Store,
        connection: &C,
        catch_up: misfire::CatchUp,
    ) -> Result<Account, StoreError> {
        let Self { schedule, timetable, now, through, .. } = self;
        let policy = misfire::Policy { catch_up, ..plan_policy(schedule) };
        let after = before_cursor(schedule);
        let part =
            gap::part(store, connection, schedule, timetable, after, *through, &policy, *now);
        let part = part.await?;
        let fires = part.entries.into_iter().map(|entry| paused_fire(schedule, entry, *now));
        let mut fires: Vec<NewFire> = fires.collect();
        let advance = advance(schedule, &mut fires, (timetable, part.next, part.last));
        schedule.fire_count += advance.fires;
        let is_spent = schedule.max_fires.is_some_and(|max| max <= schedule.fire_count);
        self.cursor = advance.next_scheduled_at.filter(|_| !is_spent);
        match self.cursor {
            Some(next) if next.utc() <= *through => schedule.next_scheduled_at = next,
            Some(_) | None => self.is_done = true,
        }
        Ok(Account { fires, advance })
    }
}

/// A schedule's timetable with its calendars, or why there is none.
pub async fn timetable<C: ConnectionTrait>(
    timings: &timetable::Cache,
    connection: &C,
    schedule: &DueSchedule,
) -> Result<Result<Timetable, TimingError>, EngineError> {
    let (keys, since) = (schedule.calendars.as_ref(), schedule.next_scheduled_at);
    let current = calendars::read(connection, keys, since).await?;
    let timetable = timings.timetable(&definition(schedule));
    Ok(timetable.and_then(|plain| calendars::with(plain, keys, &current)))
}

pub(crate) async fn write(
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
pub(crate) fn before_cursor(schedule: &DueSchedule) -> DateTime<Utc> {
    schedule.next_scheduled_at.utc() - TimeDelta::milliseconds(1)
}

/// The last instant up to `now` that a schedule's pause covers: one that was to end by itself, and
/// has, covers none from its end on.
pub(crate) fn paused_through(schedule: &DueSchedule, now: DateTime<Utc>) -> DateTime<Utc> {
    let until = schedule.paused_until.map(|until| until.utc() - TimeDelta::milliseconds(1));
    until.map_or(now, |until| until.min(now))
}

pub(crate) fn paused_fire(schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
    let why = match entry.fate {
        Fate::Run | Fate::CatchUp => promised(schedule, &entry, now),
        Fate::Collapsed => (Verdict::Collapsed, Reason::Paused),
        Fate::Missed | Fate::OutsideWindow | Fate::OverLimit => (Verdict::Skipped, Reason::Paused),
        Fate::Suppressed => (Verdict::Skipped, Reason::Calendar),
    };
    let made_up_for = (why.0 == Verdict::Pending).then_some(MadeUpFor::Pause);
    NewFire { made_up_for, ..new_fire(schedule, entry, why, now) }
}

/// What the ledger says of an entry that is to run: an intent that nobody owns yet; or, as a claim
/// would say, that it is too late for it.
pub(crate) fn promised(
    schedule: &DueSchedule,
    entry: &Entry,
    now: DateTime<Utc>,
) -> (Verdict, Reason) {
    let (jitter, deadline) = (schedule.jitter_ms, schedule.start_deadline_ms);
    if past_deadline(entry.fire.at, entry.due_at, jitter, deadline, now) {
        return (Verdict::Skipped, Reason::Deadline);
    }
    (Verdict::Pending, Reason::AwaitingHandoff)
}

/// The row of an entry that nobody owns.
pub(crate) fn new_fire(
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
        made_up_for: None,
    }
}

/// So many pauses end in one transaction: pauses that end at one moment cost a commit for each
/// fifty of them, and what else is due comes between.
const TOGETHER: u64 = 50;

/// So many are tried one by one where some cannot be resumed.
const ONE_BY_ONE: u64 = 500;

/// Resumes schedules whose pause was to end by now, those that have waited longest first; says how
/// many those were. There may be more. One that cannot be resumed, or that somebody else is at,
/// holds up no other.
pub(in crate::engine) async fn resume_due(
    core: &Arc<Core>,
    now: DateTime<Utc>,
) -> Result<usize, EngineError> {
    if core.store.pauses_over(now.into(), 1).await?.is_empty() {
        return Ok(0);
    }
    match resume_together(core, now).await {
        Err(error) if !error.is_transient() => {}
        answer => return answer,
    }
    // One of them cannot be resumed.
    let mut resumed = 0;
    for schedule in core.store.pauses_over(now.into(), ONE_BY_ONE).await? {
        match resume_if_over(core, schedule, now).await {
            Ok(true) => resumed += 1,
            Ok(false) => {}
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => tracing::error!(%schedule, "failed to end a pause: {error}"),
        }
    }
    Ok(resumed)
}

async fn resume_together(core: &Arc<Core>, now: DateTime<Utc>) -> Result<usize, EngineError> {
    let tx = core.store.begin().await?;
    let over = core.store.lock_pauses_over(&tx, now.into(), TOGETHER).await?;
    if core.has_other_zones(&tx).await? {
        tx.rollback().await?;
        return Ok(0);
    }
    let (mut resumed, mut rows) = (0, 0);
    for schedule in over {
        let skip = misfire::CatchUp::Skip;
        rows += resume(&core.store, &core.timings, &tx, schedule, skip, now).await?.rows;
        resumed += 1;
        // What was not come to is over in the next round, too.
        if rows >= MAX_ROWS {
            break;
        }
    }
    core.store.commit(tx).await?;
    Ok(resumed)
}

async fn resume_if_over(
    core: &Arc<Core>,
    schedule: Uuid,
    now: DateTime<Utc>,
) -> Result<bool, EngineError> {
    let tx = core.store.begin().await?;
    // Since it was found, somebody may have given the pause another end, or none.
    let is_over = core.store.lock_pause_if_over(&tx, schedule, now.into()).await?;
    if !is_over || core.has_other_zones(&tx).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    resume(&core.store, &core.timings, &tx, schedule, misfire::CatchUp::Skip, now).await?;
    core.store.commit(tx).await?;
    Ok(true)
}
