//! What becomes of the instants that nobody claimed when a timing ends: by an edit or a deletion.
//!
//! None of them runs any more, and none is lost. All of it is written by the transaction that ends
//! the timing; where that would be much, what is older than the catch-up window is written before.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{Reason, Verdict},
};
use timetable::misfire::{self, Entry, Fate};
use uuid::Uuid;

use super::{
    accounting::{Account, before_cursor, new_fire, paused_fire, paused_through, timetable, write},
    gap,
    planner::{advance, plan_policy},
};
use crate::{
    engine::EngineError,
    store::{
        DatabaseTransaction, Store,
        claims::{Advance, DueSchedule, NewFire},
    },
};

const MS: TimeDelta = TimeDelta::milliseconds(1);

/// What ends a schedule's timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Another timing takes its place.
    Edited,
    /// The schedule goes.
    Deleted,
}

/// A timing that ends, or gives way to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// Whose timing it is.
    pub(crate) schedule_id: Uuid,
    /// Whether the schedule is paused.
    pub(crate) is_paused: bool,
    pub(crate) ending: Ending,
    /// Up to where instants are accounted for.
    pub(crate) until: DateTime<Utc>,
    pub(crate) now: DateTime<Utc>,
}

/// Accounts inside `tx` for what a schedule's timing named and nobody claimed, up to `until`, which is
/// `now` or somewhat before. The timing is over then: the cursor is taken away, and whoever comes
/// with another one sets it.
///
/// That is as much as a catch-up window holds, for what lies before it was [shortened](shorten): 30
/// days at the most. Its rows are not its instants but the ranges between the boundaries of calendars,
/// of which a schedule names eight with a hundred windows each: 48,000 in the worst case, a handful in
/// any other. It must be one transaction with the change: until that is valid, the schedule's policy
/// may still make runs of what is within the window, and an order that fails decides nothing.
pub(crate) async fn close(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    Closing { schedule_id, is_paused, ending, until, now }: Closing,
) -> Result<(), EngineError> {
    let Some(schedule) = store.schedule_with_cursor(tx, schedule_id).await? else {
        return Ok(());
    };
    // What cannot be read names no instants.
    let Ok(timetable) = timetable(timings, tx, &schedule).await? else { return Ok(()) };
    let policy = misfire::Policy { catch_up: misfire::CatchUp::Skip, ..plan_policy(&schedule) };
    // Late beyond the grace, it was missed; up to then it was somebody's to claim, until now.
    let late = (now - policy.grace - MS).min(until);
    let mut stretches = vec![(late, Stretch::Missed), (until, Stretch::Waiting(ending))];
    if is_paused {
        let through = paused_through(&schedule, now).min(until);
        stretches.retain(|_| through < until);
        stretches.insert(0, (through, Stretch::Paused));
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
    let advance = Advance {
        schedule_id,
        next_scheduled_at: None,
        next_fire_at: None,
        last_fire_at,
        fires: 0,
    };
    write(store, tx, Account { fires, advance }, now).await
}

/// Accounts inside `tx` for a part of what is older than the schedule's catch-up window, if that is
/// more than a part; says whether it was. What ends the timing then has not much left to
/// [close] in its own transaction. No policy makes a run of what is that old, so nothing is
/// decided that would come otherwise if the timing stayed.
pub(crate) async fn shorten(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    schedule_id: Uuid,
    is_paused: bool,
    now: DateTime<Utc>,
) -> Result<bool, EngineError> {
    let Some(schedule) = store.schedule_with_cursor(tx, schedule_id).await? else {
        return Ok(false);
    };
    let Ok(timetable) = timetable(timings, tx, &schedule).await? else { return Ok(false) };
    let policy = misfire::Policy { catch_up: misfire::CatchUp::Skip, ..plan_policy(&schedule) };
    let (through, stretch) = if is_paused {
        (paused_through(&schedule, now), Stretch::Paused)
    } else {
        (now - policy.grace - MS, Stretch::Missed)
    };
    let until = through.min(now - policy.window);
    let after = before_cursor(&schedule);
    let part = gap::part(store, tx, &schedule, &timetable, after, until, &policy, now).await?;
    if part.next.is_none_or(|next| next.at > until) {
        return Ok(false);
    }
    let entries = part.entries.into_iter();
    let mut fires: Vec<_> = entries.map(|entry| stretch.fire(&schedule, entry, now)).collect();
    let advance = advance(&schedule, &mut fires, (&timetable, part.next, part.last));
    write(store, tx, Account { fires, advance }, now).await?;
    Ok(true)
}

/// What instants that nobody claimed have in common.
#[derive(Clone, Copy)]
enum Stretch {
    /// They fell into a pause.
    Paused,
    /// They are late beyond the grace.
    Missed,
    /// They were somebody's to claim until this.
    Waiting(Ending),
}

impl Stretch {
    /// The row of an entry of which nothing runs.
    fn fire(self, schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
        let why = match (self, entry.fate) {
            (Self::Paused, _) => return paused_fire(schedule, entry, now),
            (Self::Missed | Self::Waiting(_), Fate::Suppressed) => {
                (Verdict::Skipped, Reason::Calendar)
            }
            (Self::Missed, Fate::OutsideWindow) => (Verdict::Missed, Reason::CatchUpWindow),
            (
                Self::Missed,
                Fate::Run | Fate::CatchUp | Fate::Collapsed | Fate::Missed | Fate::OverLimit,
            ) => (Verdict::Missed, Reason::Outage),
            (Self::Waiting(Ending::Edited), _) => (Verdict::Skipped, Reason::StaleVersion),
            (Self::Waiting(Ending::Deleted), _) => (Verdict::Skipped, Reason::Deleted),
        };
        new_fire(schedule, entry, why, now)
    }
}

/// The instant behind which a timing that takes the place of another begins: now. Where the clock
/// has been stepped back, the old timing's instants are accounted for beyond that, and the new one
/// begins behind them: else it would name instants that lie in rows of the ledger already.
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
