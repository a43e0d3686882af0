//! The planner claims schedules at the instant when they are due.
//!
//! A schedule is claimed once its `schedule.next_fire_at` has come, by one transaction that writes
//! the fires and moves the cursor. The fires are then handed over. No state in memory matters:
//! the next due instant only says when to look, and the tables say what to do.
//! A late or lost wake-up makes a fire late, but never loses it. Two planners on one database
//! compete for the row locks and, at worst, for the unique key of a fire.
//!
//! A round claims due schedules, ends pauses and releases buffered fires, each up to a limit.
//! So an excess of one kind delays the others only by that much.
//! The next round follows immediately and continues with the rest.
//!
//! - `claimer`: claims schedules, and isolates those that the database refuses
//! - `quarantine`: the refused schedules, and when they are tried again; no IO
//! - `claim`: claims one batch in one transaction; `decision`: decides about its fires; no IO
//! - `lock`: locks due schedules for a claim; `first`:
//!   leaves out those that other nodes are claiming
//! - `calendars`: compiles the calendars of a batch before the transaction that claims it
//! - `timing`: converts a row to its timetable and policies
//! - `outage`: previews the claims after an outage; no IO

mod calendars;
mod claim;
mod claimer;
mod decision;
mod first;
mod lock;
mod outage;
mod over_quota;
mod quarantine;
mod timing;

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;

use self::{claim::ClaimResults, claimer::Claimer};
pub(in crate::engine) use self::{
    claim::advance,
    timing::{catch_up_of, definition, plan_policy},
};
pub(crate) use self::{
    decision::kind,
    outage::{OutageEnd, after_outage},
};
use super::buffer;
use crate::{
    engine::{
        EngineError,
        cluster::ClaimTurns,
        core::Core,
        execution::handoff::{self, HandedOver},
        service::Service,
    },
    store::{buffers::BufferOutlook, handoffs::Intent},
};

/// Maximum number of batches that a round claims.
/// A storm of ten thousand fires fits into one round.
/// That matters because nothing is claimed between rounds, while the last batch is handed over.
const MAX_CLAIMS: usize = 24;

/// The first batch of a round is handed over in parts of this size, so that its first runs start
/// while the others are written. With room for fewer, a part finds the places of the part before.
const FIRST_PART: usize = 125;

/// The pause before the planner looks again at due schedules that it could not claim, because
/// another node held them or because of an error. The pause doubles each time, up to the longest; a
/// longer one would delay schedules that become due later.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// After reading all buffers, the planner waits this many times as long as the read took before it
/// reads them again, up to the longest rest. The rest is limited because a read that was slow while
/// the database hung says nothing about the next one.
const REST: u32 = 4;
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The service that claims due schedules and hands over their fires.
#[derive(Debug)]
pub(crate) struct Planner {
    core: Arc<Core>,
    claims: Claimer,
    /// When the next schedule becomes due. Each round reads this from the tables again.
    next: Option<Timestamp>,
    /// How long to wait before the next round, if schedules were due before the round and still
    /// are, because the round could not claim them.
    stuck: Option<Duration>,
    /// The state of the buffers when they were last read.
    outlook: BufferOutlook,
    /// The planner does not read the buffers again before this instant.
    rests_until: Instant,
    /// How much of the planner's rest was left when it should have read
    /// the buffers; `None` if it was not resting.
    postponed: Option<Duration>,
    /// Whether the last round reached its limits before all work was done.
    is_behind: bool,
    /// Whether the last round failed, so that this node does
    /// not know which of its writes were committed.
    in_doubt: bool,
}

/// The results of a round of the planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannerReport {
    /// Number of schedules whose cursor moved.
    pub claimed: usize,
    /// Number of transactions used.
    pub batches: usize,
    /// Number of fires written.
    pub fires: usize,
    /// Number of runs started on this node.
    pub started: usize,
    /// Number of runs queued.
    pub queued: usize,
    /// Number of schedules whose pause ended, or got the later end of its maintenance window.
    pub resumed: usize,
    /// Number of schedules that were paused, with the reason,
    /// because their timing can no longer be parsed.
    pub broken: usize,
    /// Number of schedules that were quarantined because the database refuses their fires.
    pub refused: usize,
}

impl Planner {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        let rests_until = core.clock.instant();
        Self {
            core,
            claims: Claimer::default(),
            next: None,
            stuck: None,
            outlook: BufferOutlook::default(),
            rests_until,
            postponed: None,
            is_behind: false,
            in_doubt: false,
        }
    }

    /// Hands over fires that this node has claimed although the claim seemed to fail:
    /// the connection was lost before the commit was confirmed.
    /// While this node is alive, recovery would find these fires only later.
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
                // Where the database refuses all of them, recovery tries them later.
                self.in_doubt = more && handed_over != HandedOver::default();
            }
            // The rest of the round may still succeed. A transient error is handled after it.
            Err(error) => {
                self.in_doubt = error.is_transient();
                if self.in_doubt {
                    tracing::debug!(%error, "failed to hand over after a failed round");
                } else {
                    tracing::error!(%error, "failed to hand over after a failed round");
                }
            }
        }
    }

    async fn round(
        &mut self,
        now: DateTime<Utc>,
        mut report: PlannerReport,
    ) -> Result<PlannerReport, EngineError> {
        let core = self.core.clone();
        self.is_behind = false;
        if !core.may_schedule().await? {
            // The planner is woken once this node may schedule again.
            (self.next, self.stuck, self.outlook) = (None, None, BufferOutlook::default());
            // Other nodes claim now, and they know which fires the database refuses to them.
            core.cluster.note_refused(Vec::new());
            return Ok(PlannerReport::default());
        }
        // The share is the same for the whole round, so that the next instant matches the claims.
        let share = core.cluster.share();
        // The flag is set before the tables are read, so that a run
        // that settles from now on wakes the planner again.
        core.buffering.store(true, Ordering::Relaxed);
        let claims = match self.claim(share.as_deref(), &mut report).await {
            Err(error) if error.is_transient() => return Err(error),
            answer => answer,
        };
        // Due schedules go first, so that a thousand pauses that end together delay no fire.
        // Fires that the database refuses in every round must not delay any of this either.
        let tried = self.try_again(&mut report).await;
        let resumed = super::accounting::resume_due(&core, now).await;
        let releases = self.look_at_buffers(now, &mut report).await;
        let claims = claims?;
        tried?;
        report.resumed = resumed?;
        let releases = releases?;
        self.is_behind = claims || releases;
        if self.is_behind {
            self.stuck = None;
            return Ok(report);
        }
        let quarantined = self.claims.quarantined();
        self.next = match share {
            None => core.store.next_due_excluding(now.into(), &quarantined).await?,
            Some(share) => share
                .next(&core.store.due_ahead_excluding(now.into(), &quarantined).await?, now.into()),
        };
        let idle = PlannerReport { batches: report.batches, ..PlannerReport::default() };
        // Another transaction may hold the lock on a buffered fire whose deadline has passed.
        let deadline = self.outlook.deadline.filter(|_| self.postponed.is_none());
        let is_past = |at: Option<Timestamp>| at.is_some_and(|at| at <= Timestamp::from(now));
        let is_stuck = report == idle && (is_past(self.next) || is_past(deadline));
        let longer = self.stuck.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
        self.stuck = is_stuck.then_some(longer);
        Ok(report)
    }

    /// Claims due schedules in batches, and hands over each batch while it claims the next one.
    /// Returns whether more are due.
    async fn claim(
        &self,
        share: Option<&ClaimTurns>,
        report: &mut PlannerReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let mut intents = Vec::new();
        loop {
            let (handed_over, claimed) = tokio::join!(
                self.hand_over_batch(report.batches, &intents),
                self.claims.claim_due(core, core.clock.now(), share)
            );
            // If one of the two fails, the result of the other must still be handled.
            let claimed = match claimed {
                Ok(claimed) => claimed,
                Err(error) => return handed_over.and(Err(error)),
            };
            report.batches += 1;
            report.add_claimed(&claimed);
            intents = claimed.intents;
            let more = (claimed.schedules as u64) >= core.settings.batch || claimed.more_is_due;
            let is_last = !more || report.batches >= MAX_CLAIMS;
            if is_last || handed_over.is_err() {
                report.add(self.hand_over_batch(report.batches, &intents).await?);
            }
            report.add(handed_over?);
            if is_last {
                return Ok(more);
            }
        }
    }

    /// Tries the schedules whose quarantine has ended again.
    async fn try_again(&self, report: &mut PlannerReport) -> Result<(), EngineError> {
        let claimed = self.claims.try_again(&self.core, self.core.clock.now()).await?;
        report.add_claimed(&claimed);
        report.add(self.hand_over(&claimed.intents).await?);
        Ok(())
    }

    /// Releases a batch of fires from the buffers. Returns whether there may be more.
    /// This reads every schedule with a buffer. With thousands of them the read takes a while,
    /// during which nothing is claimed, so it is not done in every round.
    async fn look_at_buffers(
        &mut self,
        now: DateTime<Utc>,
        report: &mut PlannerReport,
    ) -> Result<bool, EngineError> {
        let core = self.core.clone();
        let began = core.clock.instant();
        let left = self.rests_until.saturating_duration_since(began);
        self.postponed = (!left.is_zero()).then_some(left);
        if self.postponed.is_some() {
            return Ok(false);
        }
        let released = buffer::release(&core, core.agreed_now().await, core.settings.batch).await?;
        report.add(self.hand_over(&released.intents).await?);
        if released.progress {
            return Ok(true);
        }
        let waits = released.waited;
        self.outlook = if waits {
            core.store.buffer_outlook(now.into()).await?
        } else {
            BufferOutlook::default()
        };
        core.buffering.store(self.outlook.waits, Ordering::Relaxed);
        let ended = core.clock.instant();
        let rest = ended.saturating_duration_since(began).saturating_mul(REST);
        self.rests_until = ended + rest.min(LONGEST_REST);
        Ok(false)
    }

    /// When the planner looks again if nothing wakes it earlier.
    fn next_look(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        if self.is_behind {
            return now;
        }
        let after = |pause| now + TimeDelta::from_std(pause).unwrap_or_default();
        // A change that another node writes may not wake this node.
        let settings = &self.core.settings;
        let ahead =
            if self.core.cluster.has_others() { settings.poll } else { settings.look_ahead };
        let horizon = match self.in_doubt {
            true => after(LONGEST_PAUSE),
            false => after(ahead.min(settings.look_ahead)),
        };
        let earliest = after(self.stuck.unwrap_or_default()).min(horizon);
        let next = self.next.map_or(horizon, Timestamp::utc);
        // A run that settles on another node may not wake this node.
        let poll = if self.outlook.waits { after(self.core.settings.poll) } else { horizon };
        let look = match self.postponed {
            // If the planner was woken for the buffers, it reads them when its rest is over.
            Some(left) => after(left),
            None => self.outlook.deadline.map_or(horizon, Timestamp::utc),
        };
        // Quarantined schedules are tried again when their quarantine ends.
        let next_try = self.claims.next_try(self.core.clock.instant()).map_or(horizon, after);
        next.min(poll).min(look).min(next_try).clamp(earliest, horizon)
    }

    /// Hands over a round's batch with that number, from 1. If a part fails, so does the round,
    /// and the next round finds the rest.
    async fn hand_over_batch(
        &self,
        number: usize,
        intents: &[Intent],
    ) -> Result<HandedOver, EngineError> {
        let part = if number <= 1 { FIRST_PART } else { usize::MAX };
        let mut handed = HandedOver::default();
        for some in intents.chunks(part) {
            handed += self.hand_over(some).await?;
        }
        Ok(handed)
    }

    async fn hand_over(&self, intents: &[Intent]) -> Result<HandedOver, EngineError> {
        if intents.is_empty() {
            return Ok(HandedOver::default());
        }
        handoff::hand_over(&self.core, intents, None).await
    }
}

impl PlannerReport {
    fn add_claimed(&mut self, claimed: &ClaimResults) {
        self.claimed += claimed.schedules;
        self.fires += claimed.fires;
        self.broken += claimed.broken;
        self.refused += claimed.refused;
    }

    fn add(&mut self, handed_over: HandedOver) {
        self.started += handed_over.started;
        self.queued += handed_over.queued;
    }
}

impl Service for Planner {
    type Report = PlannerReport;
    const NAME: &'static str = "planner";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<PlannerReport, EngineError> {
        self.core.signals.planner_looks();
        let mut report = PlannerReport::default();
        if self.in_doubt {
            self.settle_doubt(&mut report).await;
        }
        let answer = self.round(now, report).await;
        self.in_doubt |= answer.is_err();
        match &answer {
            Ok(_) => self.core.rounds.succeeded(),
            Err(error) if error.is_transient() => self.core.rounds.failed(now),
            Err(_) => {}
        }
        answer
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let at = self.next_look(now);
        self.core.signals.planner_looks_again(at.into());
        at
    }

    fn is_notable(report: &PlannerReport) -> bool {
        report.claimed > 0 || report.started > 0 || report.resumed > 0
    }
}
