//! Makes one claim. In the transaction that locked the schedules, it decides about their fires,
//! writes them and moves the cursors: all of it or nothing.

use std::{collections::HashSet, mem, ops::AddAssign};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, fire::Verdict};
use sea_orm::ActiveEnum;
use timetable::{Fire, Timetable, misfire};
use uuid::Uuid;

use super::{
    decision::{ClaimContext, DecidedEntries, ScheduleLoad, decide_within},
    lock::LockedSchedules,
    over_quota::QuotaCharge,
    timing::{definition, plan_policy},
};
use crate::{
    engine::{
        EngineError,
        core::Core,
        planning::{
            allowance,
            buffer::{self, Cleared, Clearing},
            lateness::Lateness,
        },
    },
    model::calendars::{self, CurrentCalendars},
    store::{
        DatabaseTransaction, Store,
        claims::{CursorAdvance, DueSchedule, NewFire},
        handoffs::Intent,
        live::RowsSince,
    },
};

/// Maximum number of already recorded instants that one claim skips. The next claim continues after
/// them. So the transaction does not grow with the number of instants that backfills have run.
const MAX_TAKEN: usize = 1_000;

/// The results of a claim.
#[derive(Debug, Default)]
pub(super) struct ClaimResults {
    pub(super) schedules: usize,
    pub(super) fires: usize,
    pub(super) broken: usize,
    /// Number of schedules whose fires the database refuses.
    pub(super) refused: usize,
    /// The intents to hand over now.
    pub(super) intents: Vec<Intent>,
    /// Whether more instants are due than one claim takes.
    pub(super) more_is_due: bool,
}

impl AddAssign for ClaimResults {
    fn add_assign(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.fires += other.fires;
        self.broken += other.broken;
        self.refused += other.refused;
        self.intents.extend(other.intents);
        self.more_is_due |= other.more_is_due;
    }
}

/// Claims the locked schedules, whose calendars are given.
/// After an outage, each schedule can have hundreds of fires. So once a claim has a full batch
/// of fires, it takes no more schedules, and the cursors of the others stay in place.
pub(super) async fn claim(
    core: &Core,
    LockedSchedules { tx, due, now, more_is_due }: LockedSchedules,
    calendars: &CurrentCalendars,
) -> Result<ClaimResults, EngineError> {
    let start = core.clock.instant();
    let UncommittedClaim { mut claimed, fires, written, cleared, mut charge } =
        match write(core, &tx, now, due, more_is_due, calendars).await {
            Ok(written) => written,
            Err(error) => return Err(rolled_back(tx, error).await),
        };
    core.store.commit(tx).await?;
    charge.start(&fires, &written);
    cleared.announce(core);
    if core.backfills.take_claim() {
        core.signals.wake_backfill();
    }
    core.metrics.claimed(claimed.schedules, start.elapsed());

    claimed.fires = written.len();
    for fire in fires.into_iter().filter(|fire| written.contains(&fire.id)) {
        if fire.verdict != Verdict::Pending {
            let count = fire.count.unsigned_abs();
            let schedule = Some(fire.schedule_id);
            let (verdict, reason) = (fire.verdict.to_value(), fire.reason.to_value());
            core.metrics.fires(schedule, verdict, reason, count);
        } else if fire.claimed_by.is_some() {
            claimed.intents.push(intent(&fire, now));
        }
    }
    Ok(claimed)
}

/// Ends the transaction of a failed claim, and returns its error. It is rolled back explicitly,
/// because the driver's own rollback would come later, and a retry must find nothing locked.
pub(super) async fn rolled_back(
    tx: DatabaseTransaction,
    error: impl Into<EngineError>,
) -> EngineError {
    if let Err(error) = tx.rollback().await {
        tracing::debug!(%error, "failed to roll a claim back");
    }
    error.into()
}

/// The part of a claim that has been written and not committed.
struct UncommittedClaim {
    claimed: ClaimResults,
    fires: Vec<NewFire>,
    /// The fires whose instants had no row before.
    written: HashSet<Uuid>,
    cleared: Cleared,
    charge: QuotaCharge,
}

async fn write(
    core: &Core,
    tx: &DatabaseTransaction,
    now: DateTime<Utc>,
    due: Vec<DueSchedule>,
    more_is_due: bool,
    current: &CurrentCalendars,
) -> Result<UncommittedClaim, EngineError> {
    let node = core.node_id().await;
    let ids: Vec<Uuid> = due.iter().map(|schedule| schedule.id).collect();
    let live = core.store.live_by_schedule(tx, &ids, now.into(), intents_since(&due, now)).await?;
    let buffering = due.iter().filter(|schedule| buffer::has_buffer(schedule.overlap));
    let buffering: Vec<Uuid> = buffering.map(|schedule| schedule.id).collect();
    let buffers =
        core.store.buffers_of(tx, &buffering, now.into(), intents_since(&due, now)).await?;

    let mut claimed = ClaimResults { more_is_due, ..ClaimResults::default() };
    let mut planned = Vec::with_capacity(due.len());
    let mut entries = 0;
    for schedule in due {
        if entries as u64 >= core.settings.batch {
            claimed.more_is_due = true;
            break;
        }
        claimed.schedules += 1;
        let plain = core.timings.timetable(&definition(&schedule));
        let timetable =
            plain.and_then(|plain| calendars::with(plain, schedule.calendars.as_ref(), current));
        let timetable = match timetable {
            Ok(timetable) => timetable,
            Err(error) => {
                // The timing was valid when it was saved, but the zone's rules or the dialect have
                // changed since. Such a schedule must neither delay the others nor stop silently.
                let schedule_id = schedule.id;
                tracing::error!(%schedule_id, %error, "failed to read a saved timing");
                core.store.pause_broken(tx, schedule.id, &error.to_string(), now.into()).await?;
                claimed.broken += 1;
                continue;
            }
        };
        let one = Planned::new(schedule, timetable, now);
        entries += one.plan.entries.len();
        planned.push(one);
    }
    go_around_taken(&core.store, tx, &mut planned).await?;

    let all = planned.iter().flat_map(|planned| &planned.plan.entries);
    let moment = ClaimContext { now, node };
    let lateness = Lateness::of(core, tx, all, now).await?;
    let mut fires = Vec::with_capacity(entries);
    let mut advances = Vec::with_capacity(planned.len());
    let mut clearing = Clearing::default();
    let mut charge = QuotaCharge::new(core.cluster.meter(), now);
    for Planned { schedule, timetable, plan, last } in planned {
        let there = ScheduleLoad {
            live: live.get(&schedule.id).copied(),
            buffered: buffers.get(&schedule.id).copied().unwrap_or_default(),
            stoppable: clearing.stoppable(),
        };
        let alive = there.alive();
        let DecidedEntries { fires: mut decided, mut demand, cut } =
            decide_within(&schedule, plan.entries, there, lateness.as_ref(), moment);
        charge.skip(&schedule, &mut decided, &mut demand);
        let advance = behind(&schedule, &decided, cut, &timetable, plan.next, last);
        claimed.more_is_due |= is_claimed_next(&schedule, &advance, now);
        advances.push(advance);
        fires.extend(decided);
        clearing.add(demand, alive);
    }
    let written = core.store.insert_fires_if_absent(tx, &fires, now.into()).await?;
    allowance::discount(&mut advances, &fires, &written);
    clearing.keep(&written);
    let cleared = clearing.carry_out(core, tx, now).await?;
    core.store.advance_cursors(tx, &advances).await?;
    Ok(UncommittedClaim { claimed, fires, written, cleared, charge })
}

/// The position of the cursor after the decided part of a schedule's plan.
/// If the schedule's limit of fires cuts the plan off, the cursor is at the cut.
/// Otherwise it is at `next`, the first instant after `last`.
pub(crate) fn advance(
    schedule: &DueSchedule,
    decided: &mut Vec<NewFire>,
    timetable: &Timetable,
    next: Option<Fire>,
    last: Option<Timestamp>,
) -> CursorAdvance {
    let cut = allowance::cut_off(schedule, decided);
    behind(schedule, decided, cut, timetable, next, last)
}

/// The position of the cursor after a plan that is already cut
/// off; `cut` is the first fire beyond the limit.
pub(super) fn behind(
    schedule: &DueSchedule,
    decided: &[NewFire],
    cut: Option<NewFire>,
    timetable: &Timetable,
    next: Option<Fire>,
    last: Option<Timestamp>,
) -> CursorAdvance {
    let (next_scheduled_at, next_fire_at, last_fire_at) = match cut {
        Some(fire) => (
            Some(fire.scheduled_at),
            Some(fire.due_at),
            decided.last().map(|fire| fire.last_scheduled_at),
        ),
        None => (
            next.as_ref().map(|fire| fire.at.into()),
            next.as_ref().map(|fire| timetable.due_at(fire.at).into()),
            last,
        ),
    };
    let (schedule_id, fires) = (schedule.id, allowance::counted(decided));
    CursorAdvance { schedule_id, next_scheduled_at, next_fire_at, last_fire_at, fires }
}

/// Whether the next claim can take more instants of the schedule at once.
fn is_claimed_next(schedule: &DueSchedule, advance: &CursorAdvance, now: DateTime<Utc>) -> bool {
    let is_paused_by = |at: Timestamp| schedule.pause_from.is_some_and(|pause| pause <= at);
    advance.next_fire_at.is_some_and(|at| at <= Timestamp::from(now) && !is_paused_by(at))
}

/// The time for which a changed schedule's former policies matter: other nodes may have written
/// rows by them, and this node may not know them.
const JUST_CHANGED: TimeDelta = TimeDelta::minutes(1);

/// The time since when other nodes may have claimed instants of these schedules.
/// Instants within the grace period run, and instants within the window may be caught up on.
/// If a schedule was changed recently, this node does not know its former window.
fn intents_since(due: &[DueSchedule], now: DateTime<Utc>) -> RowsSince {
    let lately = Timestamp::from(now - JUST_CHANGED);
    let is_changed = |schedule: &DueSchedule| {
        schedule.updated_at >= lately && schedule.updated_at > schedule.created_at
    };
    if due.iter().any(is_changed) {
        return RowsSince::Anything;
    }
    let reach = |schedule: &DueSchedule| {
        schedule.catch_up_window_ms.max(schedule.grace_ms.saturating_add(schedule.jitter_ms))
    };
    let reach = due.iter().map(reach).max().unwrap_or_default();
    RowsSince::Instant(Timestamp(now.timestamp_millis().saturating_sub(reach)))
}

/// A schedule whose due instants have been planned.
pub(super) struct Planned {
    schedule: DueSchedule,
    timetable: Timetable,
    pub(super) plan: misfire::Plan,
    /// The last instant that will have a row once this plan is written.
    pub(super) last: Option<Timestamp>,
}

impl Planned {
    /// Plans the due instants from the schedule's cursor on, up to the pause that is planned for
    /// it. A claim may come late, after that pause should have begun.
    pub(super) fn new(schedule: DueSchedule, timetable: Timetable, now: DateTime<Utc>) -> Self {
        let cursor = schedule.next_scheduled_at.utc();
        let (pause, policy) = (schedule.pause_from, plan_policy(&schedule));
        let pause = pause.map(Timestamp::utc);
        let plan = misfire::plan_before(&timetable, cursor, pause, now, &policy);
        let last = plan.entries.last().map(|entry| entry.last.into());
        Self { schedule, timetable, plan, last }
    }
}

/// Removes instants that already have a row from the plans, before it is decided which
/// of the others start. Such rows exist because a backfill does not wait for the cursor;
/// its runs block nothing. The schedules are locked, so no such row is written in the meantime.
/// If a schedule has a single due instant, the unique key handles that case at no cost.
async fn go_around_taken(
    store: &Store,
    tx: &DatabaseTransaction,
    planned: &mut [Planned],
) -> Result<(), EngineError> {
    let span = |planned: &Planned| match planned.plan.entries.as_slice() {
        [] => None,
        [alone] if alone.count == 1 => None,
        [first, ..] => Some((planned.schedule.id, first.fire.at.into(), planned.last?)),
    };
    let spans: Vec<_> = planned.iter().filter_map(span).collect();
    let with_rows = store.schedules_with_rows(tx, &spans).await?;
    for planned in planned.iter_mut().filter(|planned| with_rows.contains(&planned.schedule.id)) {
        let Some((schedule, first, last)) = span(planned) else { continue };
        let mut taken =
            store.instants_taken(tx, schedule, first, last, Some(MAX_TAKEN + 1)).await?;
        if taken.len() > MAX_TAKEN
            && let Some(end) = taken.pop()
        {
            let plan = mem::take(&mut planned.plan).before(&planned.timetable, end);
            planned.last = plan.entries.last().map(|entry| entry.last.into());
            planned.plan = plan;
        }
        let entries = mem::take(&mut planned.plan.entries);
        planned.plan.entries = timetable::taken::without(&planned.timetable, entries, &taken);
    }
    Ok(())
}

fn intent(fire: &NewFire, now: DateTime<Utc>) -> Intent {
    Intent {
        id: fire.id,
        namespace_id: fire.namespace_id,
        schedule_id: fire.schedule_id,
        schedule_version: fire.schedule_version,
        scheduled_at: fire.scheduled_at,
        due_at: fire.due_at,
        claimed_at: now.into(),
        recovery_attempts: 0,
        queue_position: None,
        waited: false,
        made_up_for: fire.made_up_for,
        detail: fire.detail.clone(),
    }
}
