//! Recovery: finds what was promised and is not on its way, and brings it back on its way or says
//! that it was given up. Three conditions, kept apart:
//!
//! - an **orphaned run** is running on a node whose life is over: the attempt is lost, the run
//!   goes on elsewhere;
//! - an **overrun** is past its hard deadline on a node that should have ended it long ago;
//! - a **lost hand-off** is an intent without a run whose owner is gone, or that is old.
//!
//! (The fourth, a due schedule that nobody has claimed, needs no recovery: the next planner that
//! looks claims it.) A run that is alive is never fired again, however long it runs. Tries are
//! counted in columns, so a restart gives nobody new ones.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, fire, run, task_run};
use uuid::Uuid;

use super::{
    EngineError,
    core::Core,
    handoff::{self, Limits},
    service::Service,
    settle::{self, Decision, Standing},
};
use crate::{
    store::{
        leases::Term,
        recoveries::Stray,
        runs::{Hold, Settlement},
    },
    telemetry::Recovery as What,
};

/// Looks for what was lost.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) core: Arc<Core>,
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
    async fn take_over_orphans(
        &self,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let tx = core.store.begin().await?;
        let expired = core.store.expire_nodes(&tx, core.settings.heartbeat_expiry).await?;
        let strays = core.store.lock_orphaned_runs(&tx, BATCH).await?;
        report.expired_nodes += expired.len();
        report.orphans += strays.len();
        let mut settlements = Vec::with_capacity(strays.len());
        let mut recovered = Vec::new();
        let mut abandoned = Vec::new();
        for stray in &strays {
            let fate = judge(stray, now, self.limits());
            let (task, decision) = (self.task(stray).await?, orphaned(stray, fate, now));
            settlements.push(settlement(stray, task, decision, now));
            match fate {
                Fate::TakeOver => {
                    let mut context = stray.context.clone();
                    let execution = stray.fire_id.unwrap_or(stray.id);
                    let at = stray.scheduled_at.utc();
                    handoff::mark_recovery(&mut context, execution, at, now);
                    recovered.push((stray.id, context));
                }
                Fate::Abandon(reason) => {
                    if let Some(fire) = stray.fire_id {
                        let detail = format!("run {} was on a node that died", stray.id);
                        abandoned.push((fire, reason, detail));
                    }
                    report.abandoned += 1;
                }
                Fate::Cancel => {}
            }
        }
        core.store.settle_if_held(&tx, &settlements).await?;
        core.store.mark_recovered(&tx, &recovered).await?;
        core.store.abandon_started_fires(&tx, &abandoned, now.into()).await?;
        core.store.commit(tx).await?;
        if !recovered.is_empty() {
            core.signals.wake_dispatcher();
        }
        for node in expired {
            tracing::warn!(%node, "a node's heartbeat expired; its runs are taken over");
        }
        Ok(strays.len() as u64 == BATCH)
    }

    async fn end_overruns(
        &self,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        let core = &self.core;
        let tx = core.store.begin().await?;
        let strays = core.store.lock_overrun_runs(&tx, now.into(), BATCH).await?;
        report.overruns += strays.len();
        let mut settlements = Vec::with_capacity(strays.len());
        for stray in &strays {
            let definition = core
                .definitions
                .get(&core.store, &tx, stray.workflow_id, stray.workflow_version)
                .await?;
            let Some(task) = definition.first_task() else { continue };
            let standing = Standing {
                attempt: stray.attempt,
                max_attempts: stray.max_attempts,
                retry: &task.retry,
                now,
                random: rand::random(),
            };
            let decision = settle::overrun(standing);
            settlements.push(settlement(stray, task.name.clone(), decision, now));
        }
        let ended = core.store.settle_if_held(&tx, &settlements).await?;
        core.store.commit(tx).await?;
        // Those that are ours are stopped: their outcome would be refused anyway.
        core.stop_held(super::core::StopReason::Lost, |hold| {
            settlements.iter().any(|s| s.hold == *hold && ended.contains(&hold.run_id))
        });
        if !ended.is_empty() {
            core.signals.wake_dispatcher();
        }
        Ok(())
    }

    async fn hand_over_lost(
        &self,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let node = core.node_id().await;
        let lost_after = TimeDelta::from_std(core.settings.lost_after).unwrap_or(TimeDelta::MAX);
        let before = now.checked_sub_signed(lost_after).unwrap_or(DateTime::<Utc>::MIN_UTC);
        let tx = core.store.begin().await?;
        let lost = core.store.lock_lost_intents(&tx, before.into(), BATCH).await?;
        let ids: Vec<Uuid> = lost.iter().map(|intent| intent.id).collect();
        // Counted before it is tried: a hand-off that kills the node must not be tried for ever.
        core.store.count_recovery(&tx, &ids, node, now.into()).await?;
        core.store.commit(tx).await?;
        if lost.is_empty() {
            return Ok(false);
        }
        report.lost_handoffs += lost.len();
        let handed = handoff::hand_over(core, &lost, Some(self.limits())).await?;
        report.abandoned += handed.refused;
        Ok(lost.len() as u64 == BATCH)
    }

    async fn task(&self, stray: &Stray) -> Result<String, EngineError> {
        let core = &self.core;
        let definition = core
            .definitions
            .get(&core.store, core.store.read(), stray.workflow_id, stray.workflow_version)
            .await?;
        Ok(definition.first_task().map(|task| task.name.clone()).unwrap_or_default())
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
        let node = self.core.node_id().await;
        let term = self.core.settings.recovery_interval * 3;
        if self.core.store.hold_lease_if_free(LEASE, node, term).await? == Term::Elsewhere {
            return Ok(report);
        }
        while self.take_over_orphans(now, &mut report).await? {}
        self.end_overruns(now, &mut report).await?;
        while self.hand_over_lost(now, &mut report).await? {}
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

/// What recovery does about an orphaned run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    TakeOver,
    Cancel,
    Abandon(fire::Reason),
}

fn judge(stray: &Stray, now: DateTime<Utc>, limits: Limits) -> Fate {
    if stray.cancel_requested_at.is_some() {
        Fate::Cancel
    } else if !stray.wanted {
        Fate::Abandon(fire::Reason::Disabled)
    } else if stray.recovery_attempts >= limits.attempts {
        Fate::Abandon(fire::Reason::AttemptsExhausted)
    } else if now - stray.created_at.utc() > limits.age {
        Fate::Abandon(fire::Reason::TooOld)
    } else {
        Fate::TakeOver
    }
}

fn orphaned(stray: &Stray, fate: Fate, now: DateTime<Utc>) -> Decision {
    let lost = "the node that worked on it died";
    let (run_state, error) = match fate {
        Fate::TakeOver => (run::State::Retrying, lost.to_owned()),
        Fate::Cancel => (run::State::Cancelled, lost.to_owned()),
        Fate::Abandon(_) => {
            let tries = stray.recovery_attempts;
            (run::State::Failed, format!("{lost}; given up after {tries} recoveries"))
        }
    };
    Decision {
        task_state: task_run::State::Lost,
        run_state,
        available_at: (run_state == run::State::Retrying).then_some(now),
        error: Some(error),
        output: None,
        extra_attempts: i32::from(run_state == run::State::Retrying),
    }
}

fn settlement(stray: &Stray, task: String, decision: Decision, now: DateTime<Utc>) -> Settlement {
    Settlement {
        hold: Hold {
            run_id: stray.id,
            attempt: stray.attempt,
            node_id: stray.node_id,
            epoch: stray.epoch,
        },
        task,
        task_state: decision.task_state,
        run_state: decision.run_state,
        available_at: decision.available_at.map(Timestamp::from),
        error: decision.error,
        output: decision.output,
        extra_attempts: decision.extra_attempts,
        at: now.into(),
        took: std::time::Duration::ZERO,
    }
}
