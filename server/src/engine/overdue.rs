//! What is due and not claimed yet when a calendar changes: it is accounted for by the calendar as
//! it was, in the transaction that changes it.
//!
//! The fates are those that a claim would give at this moment, so the change costs no fire and
//! starts none: what runs becomes an intent that nobody owns, and the planner asks the overlap
//! policy and hands it over. What is paused is left alone, for nobody claims it: the end of the pause
//! decides about its instants, by the calendars as they are then.

use chrono::{DateTime, Utc};
use entity::{
    Keys, calendar,
    fire::{Reason, Verdict},
};
use timetable::misfire::{Entry, Fate};

use super::{
    EngineError, accounting, allowance, calendars,
    planner::{Planned, advance, definition, go_around_taken},
};
use crate::store::{
    DatabaseTransaction, Store,
    claims::{DueSchedule, NewFire},
};

/// So many schedules are accounted for in one go.
const BATCH: u64 = 200;

/// Accounts for what is due at `now` of the schedules that name the calendar. They are held by the
/// transaction. Wake the planner after the commit.
pub(super) async fn account(
    store: &Store,
    timings: &timetable::Cache,
    tx: &DatabaseTransaction,
    calendar: &calendar::Model,
    now: DateTime<Utc>,
) -> Result<(), EngineError> {
    loop {
        // A plan may end before now, so each look finds what is due still.
        let due = store.due_under_calendar(tx, calendar, now.into(), BATCH).await?;
        if due.is_empty() {
            return Ok(());
        }
        let named = calendars::named(due.iter().map(|schedule| &schedule.calendars));
        let current = calendars::read(tx, Some(&Keys(named.into_iter().collect()))).await?;
        let mut planned = Vec::with_capacity(due.len());
        for schedule in due {
            let plain = timings.timetable(&definition(&schedule));
            let keys = schedule.calendars.as_ref();
            match plain.and_then(|plain| calendars::with(plain, keys, &current)) {
                Ok(timetable) => planned.push(Planned::new(schedule, timetable, now)),
                // As a claim does: it names no instants.
                Err(error) => {
                    store.pause_broken(tx, schedule.id, &error.to_string(), now.into()).await?;
                }
            }
        }
        go_around_taken(store, tx, &mut planned).await?;
        let (mut fires, mut advances) = (Vec::new(), Vec::with_capacity(planned.len()));
        for Planned { schedule, timetable, plan, last } in planned {
            let decided = plan.entries.into_iter().map(|entry| fire(&schedule, entry, now));
            let mut decided: Vec<NewFire> = decided.collect();
            advances.push(advance(&schedule, &mut decided, (&timetable, plan.next, last)));
            fires.extend(decided);
        }
        let written = store.insert_fires_if_absent(tx, &fires, now.into()).await?;
        allowance::discount(&mut advances, &fires, &written);
        store.advance_cursors(tx, &advances).await?;
    }
}

/// What the ledger says of an entry that nobody owns yet.
fn fire(schedule: &DueSchedule, entry: Entry, now: DateTime<Utc>) -> NewFire {
    let why = match entry.fate {
        Fate::Run | Fate::CatchUp => accounting::promised(schedule, &entry, now),
        Fate::Collapsed => (Verdict::Collapsed, Reason::Outage),
        Fate::Missed => (Verdict::Missed, Reason::Outage),
        Fate::OutsideWindow => (Verdict::Missed, Reason::CatchUpWindow),
        Fate::OverLimit => (Verdict::Missed, Reason::CatchUpLimit),
        Fate::Suppressed => (Verdict::Skipped, Reason::Calendar),
    };
    accounting::new_fire(schedule, entry, why, now)
}
