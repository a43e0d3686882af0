//! The planner: claims what is due, at the instant when it is due.
//!
//! Promises: whatever `schedule.next_fire_at` says is claimed once that instant has come, by one
//! transaction that writes the fires and moves the cursor, and is then handed over. Nothing here
//! is remembered that matters: the agenda only says when to look, the tables say what to do. A
//! late or lost wake-up makes a fire late, never lost; two planners on one database race for the
//! row locks and, at worst, for the unique key of a fire.
//!
//! - `agenda`: the instants at which something falls due, for a short while ahead.
//! - `claim`: one batch, one transaction.
//! - `timing`: from a row to its timetable and policies.

mod agenda;
mod claim;
mod timing;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;

use self::agenda::Agenda;
pub(super) use self::{
    claim::kind,
    timing::{definition, plan_policy},
};
use super::{
    EngineError,
    core::Core,
    handoff::{self, HandedOver},
    service::Service,
};
use crate::store::handoffs::Intent;

/// The first claim of a round is small, so that the first fires of a storm do not wait until a
/// full batch is written.
const FIRST_BATCH: u64 = 50;

/// Claims due schedules and hands their fires over.
#[derive(Debug)]
pub(super) struct Planner {
    core: Arc<Core>,
    agenda: Agenda,
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannerReport {
    /// Schedules whose cursor moved.
    pub claimed: usize,
    /// Transactions that it took.
    pub batches: usize,
    /// Fires written.
    pub fires: usize,
    /// Runs started here.
    pub started: usize,
    /// Runs queued.
    pub queued: usize,
    /// Schedules whose pause ended.
    pub resumed: usize,
    /// Schedules whose timing is not understood any more: paused, with the reason.
    pub broken: usize,
}

impl Planner {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, agenda: Agenda::default() }
    }

    async fn hand_over(&self, intents: &[Intent]) -> Result<HandedOver, EngineError> {
        if intents.is_empty() {
            return Ok(HandedOver::default());
        }
        handoff::hand_over(&self.core, intents, None).await
    }
}

impl PlannerReport {
    fn add(&mut self, handed_over: HandedOver) {
        self.started += handed_over.started;
        self.queued += handed_over.queued;
    }
}

impl Service for Planner {
    type Report = PlannerReport;
    const NAME: &'static str = "planner";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<PlannerReport, EngineError> {
        let core = self.core.clone();
        let batch = core.settings.batch;
        let resumed = super::accounting::resume_due(&core, now).await?;
        let mut report = PlannerReport { resumed, ..PlannerReport::default() };
        // What is claimed is handed over while the next batch is being claimed.
        let mut limit = batch.min(FIRST_BATCH);
        let mut intents = Vec::new();
        loop {
            let (handed_over, claimed) = tokio::join!(
                self.hand_over(&intents),
                claim::claim_due(&core, core.clock.now(), limit)
            );
            // A failure on the one side must not keep from the other what is its due.
            let claimed = match claimed {
                Ok(claimed) => claimed,
                Err(error) => return handed_over.and(Err(error)),
            };
            report.batches += 1;
            report.claimed += claimed.schedules;
            report.fires += claimed.fires;
            report.broken += claimed.broken;
            intents = claimed.intents;
            let is_last = (claimed.schedules as u64) < limit && !claimed.more_is_due;
            if is_last || handed_over.is_err() {
                report.add(self.hand_over(&intents).await?);
            }
            report.add(handed_over?);
            if is_last {
                break;
            }
            limit = batch;
        }
        loop {
            let adopted = claim::adopt_due(&core, core.clock.now(), batch).await?;
            report.add(self.hand_over(&adopted.intents).await?);
            if adopted.taken < usize::try_from(batch).unwrap_or(usize::MAX) {
                break;
            }
        }
        let now = core.clock.now();
        let look_ahead = TimeDelta::from_std(core.settings.look_ahead).unwrap_or_default();
        self.agenda.refill(&core.store, now, look_ahead).await?;
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let look_ahead = TimeDelta::from_std(self.core.settings.look_ahead).unwrap_or_default();
        self.agenda.next(Timestamp::from(now)).utc().clamp(now, now + look_ahead)
    }

    fn is_notable(report: &PlannerReport) -> bool {
        report.claimed > 0 || report.started > 0 || report.resumed > 0
    }
}
