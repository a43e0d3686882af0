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

    async fn hand_over(
        &self,
        intents: &[crate::store::handoffs::Intent],
        report: &mut PlannerReport,
    ) -> Result<(), EngineError> {
        if intents.is_empty() {
            return Ok(());
        }
        let HandedOver { started, queued, .. } =
            handoff::hand_over(&self.core, intents, None).await?;
        report.started += started;
        report.queued += queued;
        Ok(())
    }
}

impl Service for Planner {
    type Report = PlannerReport;
    const NAME: &'static str = "planner";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<PlannerReport, EngineError> {
        let core = self.core.clone();
        let batch = core.settings.batch;
        let mut report = PlannerReport::default();
        report.resumed = super::accounting::resume_due(&core, now).await?;
        loop {
            let now = core.clock.now();
            let claimed = claim::claim_due(&core, now, batch).await?;
            report.batches += 1;
            report.claimed += claimed.schedules;
            report.fires += claimed.fires;
            report.broken += claimed.broken;
            self.agenda.note(claimed.next_instants);
            self.hand_over(&claimed.intents, &mut report).await?;
            if claimed.schedules < usize::try_from(batch).unwrap_or(usize::MAX)
                && !claimed.more_is_due
            {
                break;
            }
        }
        loop {
            let adopted = claim::adopt_due(&core, core.clock.now(), batch).await?;
            self.hand_over(&adopted.intents, &mut report).await?;
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
