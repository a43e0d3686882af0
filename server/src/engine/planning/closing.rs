//! Records the unclaimed instants of a timing that an edit or a deletion ends.
//!
//! None of these instants will run, and each gets a row.
//! The transaction that ends the timing writes all rows. If that would be too many,
//! the rows of instants older than the catch-up window are written in advance.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{Reason, Verdict},
};
use timetable::{
    Timetable, TimingError,
    misfire::{self, Entry, Fate},
};
use uuid::Uuid;

use super::{
    accounting::{Account, before_cursor, new_fire, paused_fire, paused_through, timetable, write},
    gap,
    planner::{advance, plan_policy},
    prepared::{self, PreparedTimetable},
};
use crate::{
    engine::EngineError,
    store::{
        DatabaseTransaction, Store,
        claims::{CursorAdvance, DueSchedule, NewFire},
    },
};

const MS: TimeDelta = TimeDelta::milliseconds(1);

/// The change that ends a schedule's timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimingEnd {
    /// Another timing replaces the old one.
    Edited,
    /// The schedule is deleted.
    Deleted,
}

/// A timing that is ended or replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing<'a> {
    /// The schedule to which the timing belongs.
    pub(crate) schedule_id: Uuid,
    /// Whether the schedule is paused.
    pub(crate) is_paused: bool,
    /// The schedule's timetable, if it was built beforehand.
    pub(crate) prepared: Option<&'a PreparedTimetable>,
    pub(crate) ending: TimingEnd,
    /// The last instant that gets a row.
    pub(crate) until: DateTime<Utc>,
    pub(crate) now: DateTime<Utc>,
}

/// Records, inside `tx`, the unclaimed instants of a schedule's timing up to `until`,
/// which is `now` or slightly earlier.
/// Afterwards the schedule has no cursor; if there is a new timing, the caller sets a new one.
///
/// The instants cover at most one catch-up window, 30 days, because earlier ones were recorded by
/// [shorten]. There is one row for each range between calendar boundaries, not one per instant:
/// usually a handful, and at worst 48,000, with eight calendars of a hundred windows each. This
/// must happen in the same transaction as the change. Until the change is committed, the schedule's
/// policy may still create runs within the window, and a failed request must have no effect.
pub(crate) async fn close(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    Closing { schedule_id, is_paused, prepared, ending, until, now }: Closing<'_>,
) -> Result<(), EngineError> {
    let Some(schedule) = store.schedule_with_cursor(tx, schedule_id).await? else {
        return Ok(());
    };
    // A timing that cannot be read has no instants.
    let Ok(timetable) = ended(timings, tx, &schedule, prepared).await? else { return Ok(()) };
    let policy = misfire::Policy { catch_up: misfire::CatchUp::Skip, ..plan_policy(&schedule) };
    // An instant beyond the grace period was missed.
    // Until now, a claim could still take a later one.
    let late = (now - policy.grace - MS).min(until);
    let mut stretches =
        vec![(late, UnclaimedStretch::Missed), (until, UnclaimedStretch::Waiting(ending))];
    if is_paused {
        let through = paused_through(&schedule, now).min(until);
        stretches.retain(|_| through < until);
        stretches.insert(0, (through, UnclaimedStretch::Paused));
    }
    let (mut fires, mut last_fire_at) = (Vec::new(), None);
    let mut after = before_cursor(&schedule);
    for (until, stretch) in stretches {
        while after < until {
            let part =
                gap::part(store, tx, &schedule, &timetable, after, until, &policy, now).await?;
            let entries = part.entries.into_iter();
            fires.extend(entries.map(|entry| stretch.fire(&schedule, entry, now)));
            last_fire_at = part.last.or(last_fire_at);
            after = part.next.map_or(until, |next| until.min(next.at - MS));
        }
    }
    let advance = CursorAdvance {
        schedule_id,
        next_scheduled_at: None,
        next_fire_at: None,
        last_fire_at,
        fires: 0,
    };
    write(store, tx, Account { fires, advance }, now).await
}

/// Records, inside `tx`, one part of the instants older than the schedule's catch-up window,
/// if there is more than one part. Returns whether there was.
/// This leaves little for the transaction that ends the timing to [close].
/// No policy runs instants that old, so the rows are the same as if the timing stayed.
pub(crate) async fn shorten(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    schedule_id: Uuid,
    is_paused: bool,
    prepared: Option<&PreparedTimetable>,
    now: DateTime<Utc>,
) -> Result<bool, EngineError> {
    let Some(schedule) = store.schedule_with_cursor(tx, schedule_id).await? else {
        return Ok(false);
    };
    let Ok(timetable) = ended(timings, tx, &schedule, prepared).await? else { return Ok(false) };
    let policy = misfire::Policy { catch_up: misfire::CatchUp::Skip, ..plan_policy(&schedule) };
    let (through, stretch) = if is_paused {
        (paused_through(&schedule, now), UnclaimedStretch::Paused)
    } else {
        (now - policy.grace - MS, UnclaimedStretch::Missed)
    };
    let until = through.min(now - policy.window);
    let after = before_cursor(&schedule);
    let part = gap::part(store, tx, &schedule, &timetable, after, until, &policy, now).await?;
    if part.next.is_none_or(|next| next.at > until) {
        return Ok(false);
    }
    let entries = part.entries.into_iter();
    let mut fires: Vec<_> = entries.map(|entry| stretch.fire(&schedule, entry, now)).collect();
    let advance = advance(&schedule, &mut fires, &timetable, part.next, part.last);
    write(store, tx, Account { fires, advance }, now).await?;
    Ok(true)
}

/// The timetable that ends: the prepared one, if there is one and it is still the schedule's.
async fn ended(
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    schedule: &DueSchedule,
    prepared: Option<&PreparedTimetable>,
) -> Result<Result<Timetable, TimingError>, EngineError> {
    match prepared {
        Some(_) => Ok(prepared::timetable(timings, tx, schedule, prepared).await?),
        None => {
            if schedule.calendars.is_some() {
                tracing::debug!(schedule_id = %schedule.id, "builds the timing that a transaction ends");
            }
            timetable(timings, tx, schedule).await
        }
    }
}

/// The reason why a range of unclaimed instants does not run.
#[derive(Clone, Copy)]
enum UnclaimedStretch {
    /// The instants fall into a pause.
    Paused,
    /// The instants are late by more than the grace period.
    Missed,
    /// A claim could still take the instants when the timing ended.
    Waiting(TimingEnd),
}

impl UnclaimedStretch {
    /// The ledger row of an entry that will not run.
    fn fire(self, schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
        let (verdict, reason) = match (self, entry.fate) {
            (Self::Paused, _) => return paused_fire(schedule, entry, now),
            (Self::Missed | Self::Waiting(_), Fate::Suppressed) => {
                (Verdict::Skipped, Reason::Calendar)
            }
            (Self::Missed, Fate::OutsideWindow) => (Verdict::Missed, Reason::CatchUpWindow),
            (
                Self::Missed,
                Fate::Run | Fate::CatchUp | Fate::Collapsed | Fate::Missed | Fate::OverLimit,
            ) => (Verdict::Missed, Reason::Outage),
            (Self::Waiting(TimingEnd::Edited), _) => (Verdict::Skipped, Reason::StaleVersion),
            (Self::Waiting(TimingEnd::Deleted), _) => (Verdict::Skipped, Reason::Deleted),
        };
        new_fire(schedule, entry, verdict, reason, now)
    }
}

/// The instant after which a replacement timing begins. Usually that is now.
/// But if the clock has been stepped back, the ledger already contains instants beyond now, and the
/// new timing begins after them. Otherwise it would have instants that are within existing rows.
pub(crate) async fn begin(
    store: &Store,
    tx: &DatabaseTransaction,
    schedule_id: Uuid,
    last_fire_at: Option<Timestamp>,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, EngineError> {
    if last_fire_at.is_none_or(|last| last.utc() <= now) {
        return Ok(now);
    }
    let past = store.last_past_instant(tx, schedule_id).await?;
    Ok(past.map_or(now, |past| now.max(past.utc())))
}
