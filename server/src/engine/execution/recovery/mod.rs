//! Recovery finds promised work that is not in progress.
//! It either restarts the work or records that it was given up. It handles four conditions:
//!
//! - An **orphaned run** is running on a node whose life is over: the attempt is lost, and the run
//!   continues on another node. The same applies if the tables assign a run to this node and this
//!   node does not know the run: its commit succeeded, but the answer was lost.
//! - An **overrun** has exceeded every time limit: its own node ends it, or else any other node.
//! - A **lost hand-off** is an intent without a run whose owner is gone, or that is old.
//! - A run **waits too long** when its start deadline or its own time
//!   limit has passed and no node can take it.
//!
//! A due schedule that no node has claimed needs no recovery: the next planner that looks claims
//! it. A live run is never fired again, however long it runs.
//! Recovery attempts are counted in columns, so a restart does not reset their number.
//!
//! - `fate`: decides what happens to a stray attempt; no IO
//! - `grace`: spares other nodes after this node was cut off; no IO
//! - `orphans`: takes over runs whose node is gone
//! - `overruns`: ends attempts that exceeded every time limit
//! - `parts`: collects the failures of a round's parts
//! - `waiting`: ends runs that have waited for a node for too long
//! - `watch`: how long attempts on other nodes have been
//!   overdue, by the local monotonic clock; no IO

mod fate;
mod grace;
mod orphans;
mod overruns;
mod parts;
mod waiting;
mod watch;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::run;
use sea_orm::ActiveEnum;

use self::{grace::Grace, parts::FailedParts, watch::OverrunWatch};
use super::handoff::{self, HandoffLimits, RecoveryContext};
use crate::{
    config::NodeRole,
    engine::{
        EngineError,
        cluster::{LeaseTerm, lead},
        core::Core,
        service::{Service, caught},
    },
    store::{
        DatabaseTransaction, StoreError,
        holds::{RunLease, Settlement},
        recoveries::{OrphanedAttempt, WorkToRecover},
    },
    telemetry::RecoveryKind,
};

/// The service that finds lost work, and restarts it or gives it up.
#[derive(Debug)]
pub(in crate::engine) struct Recovery {
    core: Arc<Core>,
    grace: Grace,
    watch: OverrunWatch,
}

/// The results of a round of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Number of nodes declared dead.
    pub expired_nodes: usize,
    /// Number of runs taken from dead nodes.
    pub orphans: usize,
    /// Number of attempts ended after their hard deadline.
    pub overruns: usize,
    /// Number of intents handed over again.
    pub lost_handoffs: usize,
    /// Number of fires and runs given up.
    pub abandoned: usize,
    /// Number of runs that waited in the queue beyond their start deadline.
    pub late: usize,
    /// Number of runs whose time limit passed while they waited for another attempt.
    pub timed_out: usize,
}

impl RecoveryReport {
    /// Logs the work that the round recovered, always in a single line.
    fn tell(&self) {
        let Self { orphans, overruns, lost_handoffs, abandoned, .. } = *self;
        if orphans + overruns + lost_handoffs + abandoned > 0 {
            tracing::warn!(
                lost_runs = orphans,
                overruns,
                lost_handoffs,
                abandoned,
                "recovery took over lost work"
            );
        }
    }
}

const LEASE: &str = "recovery";
const BATCH: u64 = 500;

impl Recovery {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        let (span, longest) = (core.cluster.suspect_after(), core.settings.heartbeat_interval);
        let grace = Grace::new(span, longest, core.clock.instant());
        Self { core, grace, watch: OverrunWatch::default() }
    }

    /// Settles stray attempts whose hold has not changed, with all attempts at tasks in progress: a
    /// run of several tasks may have several.
    async fn settle(
        &self,
        tx: &DatabaseTransaction,
        settlements: &[Settlement],
        now: DateTime<Utc>,
    ) -> Result<HashSet<RunLease>, StoreError> {
        let store = &self.core.store;
        let held = store.settle_if_held(tx, settlements).await?;
        let ended = settlements.iter().filter(|settled| held.contains(&settled.hold));
        let ended: Vec<_> = ended
            .map(|settled| (settled.hold.run_id, settled.task_state, settled.error.clone()))
            .collect();
        store.end_running_attempts(tx, &ended, now.into()).await?;
        Ok(held)
    }

    /// Counts the runs that recovery ended in the metrics, because nothing else counts them.
    fn count_ended(
        &self,
        strays: &[OrphanedAttempt],
        settlements: &[Settlement],
        ended: &HashSet<RunLease>,
    ) {
        let schedules: HashMap<_, _> = strays.iter().map(|run| (run.id, run.schedule_id)).collect();
        for settled in settlements {
            if settled.run_state.is_live() || !ended.contains(&settled.hold) {
                continue;
            }
            let failed = matches!(settled.run_state, run::State::Failed | run::State::TimedOut);
            let schedule = schedules.get(&settled.hold.run_id).copied().flatten();
            let state = settled.run_state.to_value();
            self.core.metrics.execution(schedule, state, settled.took, failed);
        }
    }

    async fn hand_over_lost(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let node = core.node_id().await;
        let before = self.lost_before(now);
        let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(false) };
        let lost = core.store.lock_lost_intents(&tx, before.into(), BATCH).await?;
        if lost.is_empty() {
            tx.rollback().await?;
            return Ok(false);
        }
        // The try is counted first: a hand-off that kills the node must not be repeated for ever.
        core.store.count_recovery(&tx, &lost, node, now.into()).await?;
        core.store.commit(tx).await?;
        report.lost_handoffs += lost.len();
        let recovering = RecoveryContext { limits: self.limits(), lease: lease.clone() };
        let handed = handoff::hand_over(core, &lost, Some(&recovering)).await?;
        report.abandoned += handed.refused;
        Ok(lost.len() as u64 == BATCH)
    }

    /// The time before which a claimed intent without a run
    /// counts as lost, even if its owner is alive.
    fn lost_before(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let after = TimeDelta::from_std(self.core.settings.lost_after).unwrap_or(TimeDelta::MAX);
        now.checked_sub_signed(after).unwrap_or(DateTime::<Utc>::MIN_UTC)
    }

    /// Checks whether there is anything to recover.
    async fn astray(&self, now: DateTime<Utc>) -> Result<WorkToRecover, EngineError> {
        let core = &self.core;
        let (node, expiry) = (core.node_id().await, core.settings.heartbeat_expiry);
        Ok(core.store.astray(node, expiry, self.lost_before(now).into()).await?)
    }

    fn limits(&self) -> HandoffLimits {
        let settings = &self.core.settings;
        HandoffLimits {
            attempts: settings.recovery_attempts,
            age: TimeDelta::from_std(settings.recovery_age).unwrap_or(TimeDelta::MAX),
        }
    }

    async fn round(&mut self, now: DateTime<Utc>) -> Result<RecoveryReport, EngineError> {
        let (mut report, mut parts) = (RecoveryReport::default(), FailedParts::default());
        // Only the node itself can tell which attempts it does not
        // know, and how long it has worked on the others.
        if parts.done("unknown attempts", caught(self.disown_unknown()).await).is_some() {
            self.grace.reached(self.core.clock.instant());
        }
        parts.done("own overruns", caught(self.end_own_overruns(now, &mut report)).await);
        if self.core.settings.roles.has(NodeRole::Scheduler) {
            self.recover_for_all(now, &mut report, &mut parts).await;
        }
        report.tell();
        let metrics = &self.core.metrics;
        metrics.recovered(RecoveryKind::OrphanedRun, report.orphans);
        metrics.recovered(RecoveryKind::HardTimeout, report.overruns);
        metrics.recovered(RecoveryKind::LostHandoff, report.lost_handoffs);
        metrics.recovered(RecoveryKind::Abandoned, report.abandoned);
        parts.end(report)
    }

    /// The recovery that one node does for the whole cluster.
    /// A failure in one part must not block the other parts, because it may recur in each round.
    async fn recover_for_all(
        &mut self,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
        parts: &mut FailedParts,
    ) {
        let Some(Some(mut lease)) = parts.done("lease", self.lead().await) else { return };
        let looked = parts.done("look", self.astray(now).await);
        let mut astray = looked.unwrap_or(WorkToRecover::ANY);
        // After a step of the database's clock, heartbeats compared with
        // that clock do not show which nodes are silent.
        let silent = self.core.cluster.silent(self.core.clock.instant());
        if astray.orphans || !silent.is_empty() {
            let taken = caught(self.take_over_all(&lease, now, report)).await;
            parts.done("orphaned runs", taken);
            // The claims of a node that was declared dead count as lost only from here on.
            let looked = parts.done("look", self.astray(now).await);
            astray = looked.unwrap_or(WorkToRecover::ANY);
        }
        // Nodes have yet to record the attempts that ended during an outage.
        if astray.overruns
            && !self.grace.spares(self.core.clock.instant())
            && self.goes_on(&mut lease, parts).await
        {
            let ended = caught(self.end_overruns(&lease, now, report)).await;
            parts.done("overruns", ended);
        }
        if astray.intents {
            parts.done("lost hand-offs", caught(self.hand_over_all_lost(now, report)).await);
        }
        if self.goes_on(&mut lease, parts).await {
            let skipped = caught(self.skip_all_late(&lease, now, report)).await;
            parts.done("late runs", skipped);
        }
        if self.goes_on(&mut lease, parts).await {
            let ended = caught(self.time_out_all(&lease, now, report)).await;
            parts.done("runs past their time limit", ended);
        }
    }

    async fn lead(&self) -> Result<Option<LeaseTerm>, EngineError> {
        lead(&self.core, LEASE, self.core.settings.recovery_interval * 3).await
    }

    /// Renews the lease. Returns whether this node still has it.
    /// Without this, a slow part could use up the term of the later parts in every round.
    async fn goes_on(&self, lease: &mut LeaseTerm, parts: &mut FailedParts) -> bool {
        if !lease.is_over(&self.core.clock) {
            return true;
        }
        match parts.done("lease", self.lead().await) {
            Some(Some(renewed)) => {
                *lease = renewed;
                true
            }
            Some(None) | None => false,
        }
    }

    async fn hand_over_all_lost(
        &self,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        // A counted hand-off must really be made, so each batch has a whole term.
        while let Some(lease) = self.lead().await?
            && self.hand_over_lost(&lease, now, report).await?
        {}
        Ok(())
    }
}

impl Service for Recovery {
    type Report = RecoveryReport;
    const NAME: &'static str = "recovery";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<RecoveryReport, EngineError> {
        self.grace.round_begins(self.core.clock.instant());
        let answer = self.round(now).await;
        let was_away = answer.as_ref().is_err_and(EngineError::is_transient);
        self.grace.round_ended(self.core.clock.instant(), was_away);
        answer
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.recovery_interval).unwrap_or_default()
    }

    fn is_notable(report: &RecoveryReport) -> bool {
        *report != RecoveryReport::default()
    }
}
