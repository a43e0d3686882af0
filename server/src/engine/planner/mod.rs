//! The planner: claims what is due, at the instant when it is due.
//!
//! Promises: whatever `schedule.next_fire_at` says is claimed once that instant has come, by one
//! transaction that writes the fires and moves the cursor, and is then handed over. Nothing here
//! is remembered that matters: the next due instant only says when to look, the tables say what
//! to do. A late or lost wake-up makes a fire late, never lost; two planners on one database race
//! for the row locks and, at worst, for the unique key of a fire.
//!
//! - `claim`: one batch, one transaction.
//! - `timing`: from a row to its timetable and policies.

mod claim;
mod timing;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;

pub(super) use self::{
    claim::kind,
    timing::{definition, plan_policy},
};
use super::{
    EngineError, buffer,
    core::Core,
    handoff::{self, HandedOver},
    service::Service,
};
use crate::store::{buffers::Outlook, handoffs::Intent};

/// The first claim of a round is small, so that the first fires of a storm do not wait until a
/// full batch is written.
const FIRST_BATCH: u64 = 50;

/// What is due and cannot be claimed, because another node holds it at this moment or something is
/// wrong with it, is looked at again after this long, then twice as long, up to the ceiling. A
/// higher one would hold up what falls due after it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Claims due schedules and hands their fires over.
#[derive(Debug)]
pub(super) struct Planner {
    core: Arc<Core>,
    /// When something falls due next. Each round asks the tables again.
    next: Option<Timestamp>,
    /// Set when something was due before the round and still is, for the round could do nothing
    /// about it: how long to wait before the next look.
    stuck: Option<Duration>,
    /// What waits in buffers.
    outlook: Outlook,
    /// Whether the last round failed: what it has committed is not known.
    in_doubt: bool,
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
        Self { core, next: None, stuck: None, outlook: Outlook::default(), in_doubt: false }
    }

    /// Hands over what this node has claimed although it was told otherwise: a commit whose answer
    /// was lost with the connection. Recovery would find it, but takes its time while we live.
    async fn settle_doubt(&mut self, report: &mut PlannerReport) {
        self.in_doubt = false;
        let core = self.core.clone();
        let handed_over = async {
            let batch = core.settings.batch;
            let intents = core.store.intents_of(core.node_id().await, batch).await?;
            Ok::<_, EngineError>((self.hand_over(&intents).await?, intents.len() as u64 == batch))
        };
        match handed_over.await {
            Ok((handed_over, more)) => {
                report.add(handed_over);
                self.in_doubt = more;
            }
            // If that passes, the round that follows fails, too, and this comes again.
            Err(error) => {
                self.in_doubt = false;
                tracing::error!("failed to hand over after a failed round: {error}");
            }
        }
    }

    async fn round(
        &mut self,
        now: DateTime<Utc>,
        mut report: PlannerReport,
    ) -> Result<PlannerReport, EngineError> {
        let core = self.core.clone();
        if !core.may_schedule().await? {
            // Once it may again, it is woken.
            (self.next, self.stuck, self.outlook) = (None, None, Outlook::default());
            return Ok(PlannerReport::default());
        }
        let batch = core.settings.batch;
        // The same through the round, so that what it looks at next fits what it has claimed.
        let share = core.cluster.share();
        // Before the look at the tables: a run that settles from now on wakes us again.
        core.buffering.store(true, Ordering::Relaxed);
        let resumed = super::accounting::resume_due(&core, now).await?;
        report.resumed = resumed;
        // What is claimed is handed over while the next batch is being claimed.
        let mut limit = batch.min(FIRST_BATCH);
        let mut intents = Vec::new();
        loop {
            let (handed_over, claimed) = tokio::join!(
                self.hand_over(&intents),
                claim::claim_due(&core, core.clock.now(), share.as_deref(), limit)
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
            let released = buffer::release(&core, core.clock.now(), batch).await?;
            report.add(self.hand_over(&released.intents).await?);
            if !released.progress {
                break;
            }
        }
        self.outlook = core.store.buffer_outlook(now.into()).await?;
        core.buffering.store(self.outlook.waits, Ordering::Relaxed);
        self.next = match share {
            None => core.store.next_due_at(now.into()).await?,
            Some(share) => share.next(&core.store.due_ahead(now.into()).await?, now.into()),
        };
        let idle = PlannerReport { batches: report.batches, ..PlannerReport::default() };
        let is_stuck = report == idle && self.next.is_some_and(|next| next <= Timestamp::from(now));
        let longer = self.stuck.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
        self.stuck = is_stuck.then_some(longer);
        Ok(report)
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
        let mut report = PlannerReport::default();
        if self.in_doubt {
            self.settle_doubt(&mut report).await;
        }
        let answer = self.round(now, report).await;
        self.in_doubt |= answer.is_err();
        answer
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let after = |pause| now + TimeDelta::from_std(pause).unwrap_or_default();
        // What another node writes may wake nobody here.
        let settings = &self.core.settings;
        let ahead =
            if self.core.cluster.has_others() { settings.poll } else { settings.look_ahead };
        let horizon = after(ahead.min(settings.look_ahead));
        let earliest = after(self.stuck.unwrap_or_default()).min(horizon);
        let next = self.next.map_or(horizon, Timestamp::utc);
        // What another node settles does not wake this one.
        let poll = if self.outlook.waits { after(self.core.settings.poll) } else { horizon };
        let deadline = self.outlook.deadline.map_or(horizon, Timestamp::utc);
        next.min(poll).min(deadline).clamp(earliest, horizon)
    }

    fn is_notable(report: &PlannerReport) -> bool {
        report.claimed > 0 || report.started > 0 || report.resumed > 0
    }
}
