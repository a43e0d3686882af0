//! The buffer holds fires that wait until the runs that block them have settled.
//!
//! A waiting fire has a row like any other (`pending(buffered)`, without an owner, at a position
//! in its schedule's queue). So users can see, reorder and purge it, and it survives a crash.
//! When no run of the schedule is live, the first fire of its queue is handed over.
//! A run that settles wakes the planner for this; the planner also looks regularly.
//! Waiting fires stay subject to the rules: when the schedule is paused, edited or deleted,
//! or the fire's deadline has passed, the fire ends at once with the corresponding verdict.
//!
//! Two runs never start at once: every decision about a schedule's fires, in a claim or a release,
//! locks the schedule's row, and a fire that is about to become a run counts as live.
//!
//! - `turn`: decides about the unowned intents of one schedule; no IO
//! - `clearing`: stops runs so that a fire can start

mod clearing;
mod turn;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use entity::schedule::Overlap;
use sea_orm::ActiveEnum;
use timetable::overlap;
use uuid::Uuid;

pub(in crate::engine) use self::clearing::{Cleared, Clearing, Demand};
use self::turn::{BufferDecisions, BufferFacts, turn};
use crate::{
    engine::{EngineError, core::Core},
    model::spec::USUAL_LIMIT,
    store::{buffers::UnownedIntents, handoffs::Intent, live::RowsSince},
};

/// Number of fires from the head of each queue that one transaction examines.
const EACH: u64 = 50;

/// The results of a release of waiting fires.
#[derive(Debug, Default)]
pub(crate) struct ReleaseResults {
    /// Whether the release changed anything. If so, there may be more to release.
    pub(crate) progress: bool,
    /// Whether a fire was waiting in a buffer when the release began.
    pub(crate) waited: bool,
    /// The intents to hand over now.
    pub(crate) intents: Vec<Intent>,
}

/// Decides about the unowned intents of up to `limit` schedules: those that wait for a blocking
/// run, and those that became due after their claim.
/// The overlap policy applies here as it does to a claim.
pub(in crate::engine) async fn release(
    core: &Core,
    now: DateTime<Utc>,
    limit: u64,
) -> Result<ReleaseResults, EngineError> {
    let unowned = core.store.unowned(now.into()).await?;
    if unowned == UnownedIntents::default() {
        return Ok(ReleaseResults::default());
    }
    let nothing = ReleaseResults { waited: unowned.waits, ..ReleaseResults::default() };
    let mut ready = core.store.schedules_to_release(now.into(), limit).await?;
    if ready.is_empty() {
        return Ok(nothing);
    }
    let node = core.node_id().await;
    let tx = core.store.begin().await?;
    let queues = core.store.lock_queues(&tx, &ready).await?;
    // Schedules that another transaction has locked are tried again in a later round.
    ready.retain(|schedule| queues.contains_key(schedule));
    if ready.is_empty() {
        tx.rollback().await?;
        return Ok(nothing);
    }
    let intents = core.store.unowned_intents(&tx, &ready, now.into(), EACH, limit).await?;
    let live = core.store.live_by_schedule(&tx, &ready, now.into(), RowsSince::Anything).await?;
    let buffers = core.store.buffers_of(&tx, &ready, now.into(), RowsSince::Anything).await?;

    // The order is by key, so that fires that are released together start in a reproducible order.
    let mut by_schedule: BTreeMap<Uuid, Vec<Intent>> = BTreeMap::new();
    for intent in intents {
        by_schedule.entry(intent.schedule_id).or_default().push(intent);
    }
    let mut all = BufferDecisions::default();
    // The new owner of each decided intent.
    let mut owners = Vec::new();
    for (schedule, intents) in by_schedule {
        let facts = BufferFacts {
            queue: queues.get(&schedule).and_then(Option::as_ref),
            live: live.get(&schedule).copied(),
            buffered: buffers.get(&schedule).copied().unwrap_or_default(),
            stoppable: all.clearing.stoppable(),
            now,
        };
        all.extend(turn(intents, facts));
        owners.resize(all.decided.len(), schedule);
    }
    core.store.decide_fires_if_pending(&tx, &all.decided, now.into()).await?;
    let cleared = all.clearing.carry_out(core, &tx, now).await?;
    core.store.buffer_intents(&tx, &all.wait).await?;
    core.store.own_intents(&tx, &all.start, node, now.into()).await?;
    core.store.commit(tx).await?;
    cleared.announce(core);
    for (fire, schedule) in all.decided.iter().zip(owners) {
        let (verdict, reason) = (fire.verdict.to_value(), fire.reason.to_value());
        core.metrics.fires(Some(schedule), verdict, reason, 1);
    }
    let progress = !(all.start.is_empty() && all.decided.is_empty() && all.wait.is_empty())
        || cleared.has_any();
    Ok(ReleaseResults { progress, waited: unowned.waits, intents: all.start })
}

/// The overlap policy of a schedule.
pub(crate) fn policy(overlap: Overlap, buffer_limit: Option<i32>) -> overlap::Policy {
    match overlap {
        Overlap::Skip => overlap::Policy::Skip,
        Overlap::BufferOne => overlap::Policy::BufferOne,
        Overlap::BufferAll => {
            let limit = buffer_limit.unwrap_or(USUAL_LIMIT);
            overlap::Policy::BufferAll { limit: usize::try_from(limit).unwrap_or(0) }
        }
        Overlap::CancelOther => overlap::Policy::CancelOther,
        Overlap::TerminateOther => overlap::Policy::TerminateOther,
        Overlap::Allow => overlap::Policy::Allow,
    }
}

/// Whether a claim under this policy must know what is in the buffer.
pub(crate) fn has_buffer(overlap: Overlap) -> bool {
    match overlap {
        Overlap::BufferOne
        | Overlap::BufferAll
        | Overlap::CancelOther
        | Overlap::TerminateOther => true,
        Overlap::Skip | Overlap::Allow => false,
    }
}

/// The detail of the verdict on a fire that finds the buffer full.
pub(crate) fn full(policy: overlap::Policy) -> Option<String> {
    match policy {
        overlap::Policy::BufferAll { limit } => Some(limit.to_string()),
        overlap::Policy::BufferOne => Some("1".to_owned()),
        overlap::Policy::Skip
        | overlap::Policy::CancelOther
        | overlap::Policy::TerminateOther
        | overlap::Policy::Allow => None,
    }
}
