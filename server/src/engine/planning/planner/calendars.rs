//! Compiles the calendars of due schedules before the transaction that claims them.
//!
//! Compiling the calendars of one schedule, with their earlier versions, takes up to a second, and
//! SQLite has a single writer. So a claim looks its calendars up by their versions. If some are not
//! compiled yet, as after a change, it releases its locks, compiles them and locks the same
//! schedules again. The second transaction compiles only what has changed in the meantime.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use chrono::{DateTime, Utc};
use entity::{Keys, Timestamp};
use uuid::Uuid;

use super::{
    claim::{ClaimResults, claim, rolled_back},
    lock::{LockedSchedules, candidate, lock_these},
};
use crate::{
    engine::{EngineError, core::Core, planning::prepared::compile},
    model::calendars::{CalendarLookup, CompiledVersions, StoredCalendars},
    store::{candidates::Candidate, claims::DueSchedule},
};

/// How long one claim compiles calendars. Then it goes on without the remaining schedules, which
/// the next claim takes. It always compiles those of one schedule.
const MAX_COMPILING: Duration = Duration::from_millis(50);

/// Claims locked schedules. `None` if none of them could be locked again.
pub(super) async fn claim_locked(
    core: &Core,
    now: DateTime<Utc>,
    batch: LockedSchedules,
) -> Result<Option<ClaimResults>, EngineError> {
    let mut held = CompiledVersions::new();
    let since = first_cursors(&batch.due);
    let (batch, found) = looked_up(core, batch, &since, &mut held).await?;
    if found.unknown.is_empty() {
        return claim(core, batch, &found.current).await.map(Some);
    }
    let LockedSchedules { tx, due, more_is_due, .. } = batch;
    tx.rollback().await?;
    let (ready, are_left) = ready(core, &due, &found.unknown, &since, &mut held).await?;
    // A full batch stays one even if others lock some of its schedules meanwhile.
    let more_is_due = more_is_due || are_left || due.len() as u64 >= core.settings.batch;
    let Some(batch) = lock_these(core, now, &ready, more_is_due).await? else {
        return Ok(None);
    };
    let since = first_cursors(&batch.due);
    let (batch, found) = looked_up(core, batch, &since, &mut held).await?;
    if !found.unknown.is_empty() {
        let calendars = found.unknown.len();
        tracing::debug!(calendars, "compiles calendars in the transaction of a claim");
    }
    match core.calendars.complete(&batch.tx, found, &since).await {
        Ok(calendars) => claim(core, batch, &calendars).await.map(Some),
        Err(error) => Err(rolled_back(batch.tx, error).await),
    }
}

/// The batch with its calendars, as far as they are compiled.
async fn looked_up(
    core: &Core,
    batch: LockedSchedules,
    since: &HashMap<Uuid, Timestamp>,
    held: &mut CompiledVersions,
) -> Result<(LockedSchedules, CalendarLookup), EngineError> {
    match core.calendars.look_up(&batch.tx, since, held).await {
        Ok(found) => Ok((batch, found)),
        Err(error) => Err(rolled_back(batch.tx, error).await),
    }
}

/// The first cursor among the schedules that name a calendar, by the calendar's key.
fn first_cursors(due: &[DueSchedule]) -> HashMap<Uuid, Timestamp> {
    let mut first = HashMap::new();
    for schedule in due {
        let cursor = schedule.next_scheduled_at;
        for key in schedule.calendars.iter().flat_map(|Keys(keys)| keys) {
            let at = first.entry(*key).or_insert(cursor);
            *at = cursor.min(*at);
        }
    }
    first
}

/// Compiles the unknown calendars of the schedules in their order, and adds them to `held`. Returns
/// the schedules that need no others, and whether any are left because it took too long.
async fn ready(
    core: &Core,
    due: &[DueSchedule],
    unknown: &HashSet<Uuid>,
    since: &HashMap<Uuid, Timestamp>,
    held: &mut CompiledVersions,
) -> Result<(Vec<Candidate>, bool), EngineError> {
    let began = core.clock.instant();
    let (mut ready, mut are_left) = (Vec::with_capacity(due.len()), false);
    let mut compiled = HashSet::new();
    for schedule in due {
        let keys = schedule.calendars.iter().flat_map(|Keys(keys)| keys).copied();
        let is_missing = |key: &Uuid| unknown.contains(key) && !compiled.contains(key);
        let missing: Vec<Uuid> = keys.filter(is_missing).collect();
        if !missing.is_empty() {
            let took = core.clock.instant().saturating_duration_since(began);
            if !compiled.is_empty() && took >= MAX_COMPILING {
                are_left = true;
                continue;
            }
            let (read, calendars) = (core.store.read(), core.calendars.clone());
            let stored = StoredCalendars::read_since(read, missing.iter().copied(), since).await?;
            let versions = compile(stored.entries(), move || calendars.versions_of(&stored)).await;
            held.extend(versions.unwrap_or_default());
            compiled.extend(missing);
        }
        ready.extend(candidate(schedule));
    }
    Ok((ready, are_left))
}
