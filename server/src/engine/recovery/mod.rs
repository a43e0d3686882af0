//! Recovery: finds what was promised and is not on its way, and brings it back on its way or says
//! that it was given up. Three conditions, kept apart:
//!
//! - an **orphaned run** is running on a node whose life is over: the attempt is lost, the run
//!   goes on elsewhere. So is one that the tables give to this node, which knows nothing of it: a
//!   commit that was taken for failed, as its answer was lost;
//! - an **overrun** is past its hard deadline on a node that should have ended it long ago;
//! - a **lost hand-off** is an intent without a run whose owner is gone, or that is old.
//!
//! (The fourth, a due schedule that nobody has claimed, needs no recovery: the next planner that
//! looks claims it.) A run that is alive is never fired again, however long it runs. Tries are
//! counted in columns, so a restart gives nobody new ones.
//!
//! - `fate`: what becomes of a stray attempt; pure

mod fate;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::fire::Verdict;

use self::fate::{Fate, hold, judge, orphaned, settlement, stuck};
use super::{
    EngineError, Task,
    cluster::{Tenure, lead},
    core::Core,
    handoff::{self, Limits, Recovering},
    service::Service,
    settle::{self, Standing},
};
use crate::{
    config::Role,
    random,
    store::{
        DatabaseTransaction, StoreError,
        handoffs::Decided,
        holds::{Hold, Settlement},
    },
    target::{Noop, Target},
    telemetry::Recovery as What,
};

/// Looks for what was lost.
#[derive(Debug)]
pub(super) struct Recovery {
    core: Arc<Core>,
    /// Attempts that this node does not know, since when.
    unknown: HashMap<Hold, Instant>,
}

/// What a round found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Nodes declared dead.
    pub expired_nodes: usize,
    /// Runs taken from dead nodes.
    pub orphans: usize,
    /// Attempts over their hard deadline.
    pub overruns: usize,
    /// Intents handed over again.
    pub lost_handoffs: usize,
    /// Fires and runs given up.
    pub abandoned: usize,
}

const LEASE: &str = "recovery";
const BATCH: u64 = 500;

impl Recovery {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, unknown: HashMap::new() }
    }

    /// Disowns the attempts that this node has not known for as long as a silent node gets. For a
    /// moment that is so of each: between the commit that begins it and its start.
    async fn disown_unknown(&mut self) -> Result<(), EngineError> {
        let core = &self.core;
        let now = core.clock.instant();
        let held = core.store.held_by(core.node_id().await).await?;
        let unknown = held.into_iter().filter(|hold| !core.knows(hold));
        self.unknown =
            unknown.map(|hold| (hold, self.unknown.get(&hold).copied().unwrap_or(now))).collect();
        let expiry = core.settings.heartbeat_expiry;
        let long = self.unknown.iter().filter(|(_, since)| now - **since >= expiry);
        let long: Vec<Hold> = long.map(|(hold, _)| *hold).collect();
        if long.is_empty() {
            return Ok(());
        }
        tracing::warn!(attempts = long.len(), "this node was to work on what it does not know");
        let tx = core.store.begin().await?;
        core.store.disown_if_held(&tx, &long).await?;
        Ok(core.store.commit(tx).await?)
    }

    async fn take_over_orphans(
        &self,
        tenure: &Tenure,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let node = core.node_id().await;
        let Some(tx) = tenure.begin(&core.store, &core.clock).await? else { return Ok(false) };
        let expired =
            core.store.expire_other_nodes(&tx, node, core.settings.heartbeat_expiry).await?;
        let strays = core.store.lock_orphaned_runs(&tx, BATCH).await?;
        if expired.is_empty() && strays.is_empty() {
            // A commit would be news to all who follow, here and on other nodes.
            tx.rollback().await?;
            return Ok(false);
        }
        report.expired_nodes += expired.len();
        report.orphans += strays.len();
        let mut settlements = Vec::with_capacity(strays.len());
        let mut recovered = Vec::new();
        let mut abandoned = Vec::new();
        for stray in &strays {
            let fate = judge(stray, now, self.limits());
            settlements.push(settlement(stray, orphaned(fate, now), now));
            match fate {
                Fate::TakeOver => {
                    let mut context = stray.context.clone();
                    let execution = stray.fire_id.unwrap_or(stray.id);
                    let at = stray.scheduled_at.utc();
                    handoff::mark_recovery(&mut context, execution, at, now);
                    recovered.push((stray.id, context));
                }
                Fate::Abandon(reason) => {
                    // A retry names the fire of the run that it repeats, a backfill's run the row of
                    // its instant: their verdicts stand.
                    if let Some(id) = stray.fire_id.filter(|fire| *fire == stray.id) {
                        let detail = format!("run {} was on a node that died", stray.id);
                        abandoned.push(Decided {
                            id,
                            scheduled_at: stray.scheduled_at,
                            verdict: Verdict::Abandoned,
                            reason,
                            detail: Some(detail),
                        });
                    }
                    report.abandoned += 1;
                }
                Fate::Cancel => {}
            }
        }
        self.settle(&tx, &settlements, now).await?;
        core.store.mark_recovered(&tx, &recovered).await?;
        core.store.abandon_started_fires(&tx, &abandoned, now.into()).await?;
        core.store.commit(tx).await?;
        if !recovered.is_empty() {
            core.signals.wake_dispatcher();
        }
        if recovered.len() < strays.len() {
            core.run_settled();
            core.signals.wake_backfill();
        }
        for node in expired {
            tracing::warn!(%node, "a node's heartbeat expired; its runs are taken over");
        }
        Ok(strays.len() as u64 == BATCH)
    }

    async fn end_overruns(
        &self,
        tenure: &Tenure,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        let core = &self.core;
        let Some(tx) = tenure.begin(&core.store, &core.clock).await? else { return Ok(()) };
        let strays = core.store.lock_overrun_runs(&tx, BATCH).await?;
        if strays.is_empty() {
            tx.rollback().await?;
            return Ok(());
        }
        let mut settlements = Vec::with_capacity(strays.len());
        for stray in &strays {
            let held = core.held_for(&hold(stray));
            // It has ended here, and its settlement is on its way.
            if held.is_none() && core.knows(&hold(stray)) {
                continue;
            }
            let key = (stray.workflow_id, stray.workflow_version);
            let known = core.definitions.known(&core.store, &tx, key).await?;
            // A node knows better of its own: its clock may have been stepped, but how long it has
            // worked on an attempt is a duration.
            if let (Ok(known), Some(held)) = (&known, held)
                && (known.is_flow() || held < known.start(core.settings.heartbeat_expiry).1)
            {
                continue;
            }
            // Without its definition nobody could carry out another attempt.
            let nothing = Task::new("main", Target::Noop(Noop::default()));
            let (task, max_attempts) = match &known {
                Ok(known) if known.is_flow() => {
                    settlements.push(settlement(stray, stuck(now), now));
                    continue;
                }
                Ok(known) => (known.task(0), stray.max_attempts),
                Err(_) => (&nothing, stray.attempt),
            };
            let attempt = stray.attempt;
            let standing = Standing { attempt, max_attempts, task, now, random: random::unit() };
            settlements.push(settlement(stray, settle::overrun(standing), now));
        }
        let ended = self.settle(&tx, &settlements, now).await?;
        core.store.commit(tx).await?;
        report.overruns += ended.len();
        // Those that are ours are stopped: their outcome would be refused anyway.
        core.stop_held(super::core::StopReason::Lost, |hold| ended.contains(hold));
        if !ended.is_empty() {
            core.signals.wake_dispatcher();
            core.run_settled();
            core.signals.wake_backfill();
        }
        Ok(())
    }

    /// Settles strays whose hold is still theirs, and ends whatever was at work for them: of a run
    /// of several tasks that may be several attempts.
    async fn settle(
        &self,
        tx: &DatabaseTransaction,
        settlements: &[Settlement],
        now: DateTime<Utc>,
    ) -> Result<HashSet<Hold>, StoreError> {
        let store = &self.core.store;
        let held = store.settle_if_held(tx, settlements).await?;
        let ended = settlements.iter().filter(|settled| held.contains(&settled.hold));
        let ended: Vec<_> = ended
            .map(|settled| (settled.hold.run_id, settled.task_state, settled.error.clone()))
            .collect();
        store.end_running_attempts(tx, &ended, now.into()).await?;
        Ok(held)
    }

    async fn hand_over_lost(
        &self,
        tenure: &Tenure,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let node = core.node_id().await;
        let lost_after = TimeDelta::from_std(core.settings.lost_after).unwrap_or(TimeDelta::MAX);
        let before = now.checked_sub_signed(lost_after).unwrap_or(DateTime::<Utc>::MIN_UTC);
        let Some(tx) = tenure.begin(&core.store, &core.clock).await? else { return Ok(false) };
        let lost = core.store.lock_lost_intents(&tx, before.into(), BATCH).await?;
        if lost.is_empty() {
            tx.rollback().await?;
            return Ok(false);
        }
        // Counted before it is tried: a hand-off that kills the node must not be tried for ever.
        core.store.count_recovery(&tx, &lost, node, now.into()).await?;
        core.store.commit(tx).await?;
        report.lost_handoffs += lost.len();
        let recovering = Recovering { limits: self.limits(), tenure: tenure.clone() };
        let handed = handoff::hand_over(core, &lost, Some(&recovering)).await?;
        report.abandoned += handed.refused;
        Ok(lost.len() as u64 == BATCH)
    }

    fn limits(&self) -> Limits {
        let settings = &self.core.settings;
        Limits {
            attempts: settings.recovery_attempts,
            age: TimeDelta::from_std(settings.recovery_age).unwrap_or(TimeDelta::MAX),
        }
    }
}

impl Service for Recovery {
    type Report = RecoveryReport;
    const NAME: &'static str = "recovery";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<RecoveryReport, EngineError> {
        let mut report = RecoveryReport::default();
        // Only the node itself can tell what it does not know.
        self.disown_unknown().await?;
        if !self.core.settings.roles.has(Role::Scheduler) {
            return Ok(report);
        }
        let term = self.core.settings.recovery_interval * 3;
        let Some(tenure) = lead(&self.core, LEASE, term).await? else { return Ok(report) };
        while self.take_over_orphans(&tenure, now, &mut report).await? {}
        self.end_overruns(&tenure, now, &mut report).await?;
        // What is counted as tried must be tried: each batch has a whole term.
        while let Some(tenure) = lead(&self.core, LEASE, term).await?
            && self.hand_over_lost(&tenure, now, &mut report).await?
        {}
        let metrics = &self.core.metrics;
        metrics.recovered(What::OrphanedRun, report.orphans);
        metrics.recovered(What::HardTimeout, report.overruns);
        metrics.recovered(What::LostHandoff, report.lost_handoffs);
        metrics.recovered(What::Abandoned, report.abandoned);
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.recovery_interval).unwrap_or_default()
    }

    fn is_notable(report: &RecoveryReport) -> bool {
        *report != RecoveryReport::default()
    }
}
