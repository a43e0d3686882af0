//! Records the unclaimed instants of a pause when the pause ends.
//!
//! A pause leaves the cursor in place. At its end, each instant since then gets a row (or a range
//! of many instants gets one row), and the cursor moves past them.
//! The transaction that writes the last row also enables the schedule again.
//! So the ledger has no gap, and a resumed schedule never starts missed runs that the user did not
//! ask for. A pause with a set end ends at that instant, however late a node processes it, and as
//! if someone resumed the schedule with the policy that was chosen with the pause.
//! Later instants are claimed like those that became due during an outage.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{MadeUpFor, Reason, Verdict},
    schedule::CatchUp,
};
use sea_orm::ConnectionTrait;
use timetable::{
    Timetable, TimingError,
    misfire::{self, Entry, Fate},
};
use uuid::Uuid;

use super::{
    allowance, gap,
    planner::{advance, catch_up_of, definition, kind, plan_policy},
    prepared::{self, PreparedTimetable},
    windows,
};
use crate::{
    engine::{EngineError, core::Core, execution::handoff::past_deadline},
    model::calendars,
    random::new_id,
    store::{
        DatabaseTransaction, Store, StoreError,
        claims::{CursorAdvance, DueSchedule, NewFire},
        pauses::PauseEnding,
    },
};

/// The rows for a range of instants, and the new position of the cursor.
#[derive(Clone, Debug)]
pub struct Account {
    /// The rows to write, in order.
    pub fires: Vec<NewFire>,
    /// The new position of the cursor.
    pub advance: CursorAdvance,
}

/// The approximate maximum number of rows that one transaction writes at the end of a pause.
/// The next transaction continues after them.
const MAX_ROWS: usize = 1_000;

/// How far the end of a pause has been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseProgress {
    /// Number of rows that were written.
    pub rows: usize,
    /// Whether the end of the pause is complete.
    /// If not, more instants need a row, and the schedule is still paused.
    pub is_done: bool,
}

/// Continues to end a schedule's pause inside `tx`. Records the instants of the pause according
/// to `catch_up`, and enables the schedule after the last of them. Without `catch_up`, the policy
/// that was chosen with the pause applies.
/// Fires that should run become intents, so the caller must wake the planner after the commit.
/// `prepared` is the schedule's timetable, if it was built beforehand.
pub async fn resume(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    schedule_id: Uuid,
    prepared: Option<&PreparedTimetable>,
    catch_up: Option<misfire::CatchUp>,
    now: DateTime<Utc>,
) -> Result<PauseProgress, EngineError> {
    let done = |rows| PauseProgress { rows, is_done: true };
    let Some(schedule) = store.lock_paused_schedule(tx, schedule_id).await? else {
        return Ok(done(0));
    };
    let timetable = match prepared::timetable(timings, tx, &schedule, prepared).await? {
        Ok(timetable) => timetable,
        Err(error) => {
            store.pause_broken(tx, schedule.id, &error.to_string(), now.into()).await?;
            return Ok(done(0));
        }
    };
    let ending = if catch_up.is_some() { PauseEnding::ByHand } else { PauseEnding::Automatic };
    let catch_up = catch_up.unwrap_or_else(|| automatic_policy(schedule.paused_missed));
    let mut end = PauseEnd::new(schedule, timetable, now);
    let mut rows = 0;
    while !end.is_done() && rows < MAX_ROWS {
        let account = end.next_part(store, tx, catch_up).await?;
        rows += account.fires.len();
        write(store, tx, account, now).await?;
    }
    if !end.is_done() {
        return Ok(PauseProgress { rows, is_done: false });
    }
    store.enable(tx, schedule_id, ending, now.into()).await?;
    Ok(done(rows))
}

/// The policy for the fires of a pause that ends automatically, if `missed` was chosen with it.
pub(crate) fn automatic_policy(missed: Option<CatchUp>) -> misfire::CatchUp {
    missed.map_or(misfire::CatchUp::Skip, catch_up_of)
}

/// Computes the rows for the end of a pause, part by part.
///
/// Only instants within the pause get rows.
/// If the pause had a set end that has passed, the cursor moves to the first instant from there on,
/// and the next claim applies the schedule's own policies to it.
#[derive(Clone, Debug)]
pub struct PauseEnd {
    /// The schedule, as updated by the parts so far.
    schedule: DueSchedule,
    timetable: Timetable,
    now: DateTime<Utc>,
    /// The last instant that the pause covers.
    through: DateTime<Utc>,
    /// The first instant without a row; `None` if none is left.
    cursor: Option<Timestamp>,
    is_done: bool,
}

impl PauseEnd {
    /// Prepares the end of a schedule's pause at `now`.
    pub fn new(schedule: DueSchedule, timetable: Timetable, now: DateTime<Utc>) -> Self {
        let through = paused_through(&schedule, now);
        let cursor = Some(schedule.next_scheduled_at);
        Self { schedule, timetable, now, through, cursor, is_done: false }
    }

    /// Whether every instant of the pause has a row.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the next part is older than the catch-up window.
    /// If so, it does not depend on how the schedule is resumed.
    pub fn is_old(&self) -> bool {
        let window = self.now - plan_policy(&self.schedule).window;
        !self.is_done && before_cursor(&self.schedule) < window.min(self.through)
    }

    /// The first instant without a row; `None` if none is left.
    pub fn cursor(&self) -> Option<DateTime<Utc>> {
        self.cursor.map(Timestamp::utc)
    }

    /// The rows of the next part, without instants that already have a row.
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
        let advance = advance(schedule, &mut fires, timetable, part.next, part.last);
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

/// A schedule's timetable with its calendars, or the reason why it cannot be built.
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

/// The instant just before the first one without a row.
pub(crate) fn before_cursor(schedule: &DueSchedule) -> DateTime<Utc> {
    schedule.next_scheduled_at.utc() - TimeDelta::milliseconds(1)
}

/// The last instant up to `now` that a schedule's pause covers.
/// A pause with a set end does not cover that end or anything later.
pub(crate) fn paused_through(schedule: &DueSchedule, now: DateTime<Utc>) -> DateTime<Utc> {
    let until = schedule.paused_until.map(|until| until.utc() - TimeDelta::milliseconds(1));
    until.map_or(now, |until| until.min(now))
}

pub(crate) fn paused_fire(schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
    let (verdict, reason) = match entry.fate {
        Fate::Run | Fate::CatchUp => promised(schedule, &entry, now),
        Fate::Collapsed => (Verdict::Collapsed, Reason::Paused),
        Fate::Missed | Fate::OutsideWindow | Fate::OverLimit => (Verdict::Skipped, Reason::Paused),
        Fate::Suppressed => (Verdict::Skipped, Reason::Calendar),
    };
    let made_up_for = (verdict == Verdict::Pending).then_some(MadeUpFor::Pause);
    NewFire { made_up_for, ..new_fire(schedule, entry, verdict, reason, now) }
}

/// The verdict on an entry that should run: pending without an owner
/// or, as in a claim, missed if it is too late.
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

/// The ledger row for an entry, without an owner.
pub(crate) fn new_fire(
    schedule: &DueSchedule,
    entry: Entry,
    verdict: Verdict,
    reason: Reason,
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

/// Number of pauses that end in one transaction. If many pauses end at the same time, each commit
/// handles fifty, and other due work gets its turn in between.
const TOGETHER: u64 = 50;

/// How long one transaction ends pauses, and for how long timetables are built before it: it always
/// ends one. With calendars that changed often, a single one may take this long, and SQLite has one
/// writer.
const MAX_TURN: Duration = Duration::from_millis(50);

/// Number of schedules that are tried one by one if some cannot be resumed.
const ONE_BY_ONE: u64 = 500;

/// Resumes schedules whose pause should have ended by now, the longest overdue first. If the
/// maintenance window of a pause has a later end by now, the pause gets that end instead.
/// Returns how many pauses it ended or extended; there may be more. A schedule that cannot be
/// resumed, or that another transaction has locked, does not delay the others.
pub(in crate::engine) async fn resume_due(
    core: &Arc<Core>,
    now: DateTime<Utc>,
) -> Result<usize, EngineError> {
    let over = core.store.pauses_over(now.into(), TOGETHER).await?;
    if over.is_empty() {
        return Ok(0);
    }
    let extended = windows::extend(core, &over, now).await?;
    match resume_together(core, &over, now).await {
        Err(error) if !error.is_transient() => {}
        answer => return answer.map(|resumed| extended + resumed),
    }
    // At least one of these schedules cannot be resumed, so each is tried alone.
    let mut resumed = extended;
    for schedule in core.store.pauses_over(now.into(), ONE_BY_ONE).await? {
        match resume_if_over(core, schedule, now).await {
            Ok(true) => resumed += 1,
            Ok(false) => {}
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => tracing::error!(schedule_id = %schedule, %error, "failed to end a pause"),
        }
    }
    Ok(resumed)
}

/// Resumes schedules in one transaction. `expected` are those that it will probably lock: their
/// calendars are compiled before it.
async fn resume_together(
    core: &Arc<Core>,
    expected: &[Uuid],
    now: DateTime<Utc>,
) -> Result<usize, EngineError> {
    let built = prepared::build_in_turn(core, expected, MAX_TURN).await?;
    let tx = core.store.begin().await?;
    let over = core.store.lock_pauses_over(&tx, now.into(), TOGETHER).await?;
    if core.has_other_zones(&tx).await? {
        tx.rollback().await?;
        return Ok(0);
    }
    let (mut resumed, mut rows, began) = (0, 0, core.clock.instant());
    for schedule in over.into_iter().filter(|schedule| !built.left.contains(schedule)) {
        let timetable = built.timetables.get(&schedule);
        let progress = resume(&core.store, &core.timings, &tx, schedule, timetable, None, now);
        rows += progress.await?.rows;
        resumed += 1;
        // The next round handles the remaining schedules.
        if is_enough(rows, core.clock.instant().saturating_duration_since(began)) {
            break;
        }
    }
    core.store.commit(tx).await?;
    Ok(resumed)
}

/// Whether a transaction that has written this many rows, or has taken this long, should commit
/// before more pauses end.
fn is_enough(rows: usize, took: Duration) -> bool {
    rows >= MAX_ROWS || took >= MAX_TURN
}

async fn resume_if_over(
    core: &Arc<Core>,
    schedule: Uuid,
    now: DateTime<Utc>,
) -> Result<bool, EngineError> {
    let built = prepared::build_in_turn(core, &[schedule], MAX_TURN).await?;
    let tx = core.store.begin().await?;
    // A user may have changed or removed the end of the pause since the query.
    let is_over = core.store.lock_pause_if_over(&tx, schedule, now.into()).await?;
    if !is_over || core.has_other_zones(&tx).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    let timetable = built.timetables.get(&schedule);
    resume(&core.store, &core.timings, &tx, schedule, timetable, None, now).await?;
    core.store.commit(tx).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_ends_automatically_runs_only_what_was_chosen_with_it() {
        assert_eq!(automatic_policy(None), misfire::CatchUp::Skip);
        assert_eq!(automatic_policy(Some(CatchUp::Skip)), misfire::CatchUp::Skip);
        assert_eq!(automatic_policy(Some(CatchUp::Latest)), misfire::CatchUp::Latest);
        assert_eq!(automatic_policy(Some(CatchUp::All)), misfire::CatchUp::All);
    }

    #[test]
    fn a_transaction_that_is_long_or_late_ends_no_more_pauses() {
        assert!(!is_enough(MAX_ROWS - 1, Duration::from_millis(49)));
        assert!(is_enough(MAX_ROWS, Duration::ZERO));
        assert!(is_enough(0, MAX_TURN), "it compiled calendars for a while");
    }
}
