//! Ends runs that have waited for a node for too long. Normally the node that takes a run checks
//! the run's start deadline and time limit. Recovery makes the check if no node can take the run,
//! for lack of a free place, of a node with its tags, or of room in its group.

use chrono::{DateTime, Utc};
use entity::{fire, run};
use sea_orm::ActiveEnum;

use super::{BATCH, Recovery, RecoveryReport};
use crate::{
    engine::{EngineError, cluster::LeaseTerm, execution::flow},
    store::untaken::RunTimeLimit,
};

impl Recovery {
    /// Skips all runs that have waited in the queue beyond their start deadline.
    pub(super) async fn skip_all_late(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        if self.core.store.is_any_late(now.into()).await? {
            while self.skip_late(lease, now, report).await? {}
        }
        Ok(())
    }

    /// Ends all runs that wait for another attempt although their time limit has passed.
    pub(super) async fn time_out_all(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        let allowed = self.allowed(now).await?;
        if self.core.store.is_any_overdue(&allowed, now.into()).await? {
            while self.time_out(lease, &allowed, now, report).await? {}
        }
        Ok(())
    }

    /// Skips a batch of fires whose runs have waited in the queue beyond their start deadline.
    async fn skip_late(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(false) };
        let late = core.store.lock_late_runs(&tx, now.into(), BATCH).await?;
        if late.is_empty() {
            tx.rollback().await?;
            return Ok(false);
        }
        let runs: Vec<_> = late.iter().map(|run| (run.id, run.scheduled_at)).collect();
        core.store.skip_locked_runs(&tx, &runs, now.into()).await?;
        core.store.commit(tx).await?;
        report.late += late.len();
        for run in &late {
            let (skipped, deadline) = (fire::Verdict::Skipped, fire::Reason::Deadline);
            core.metrics.fires(run.schedule_id, skipped.to_value(), deadline.to_value(), 1);
        }
        core.run_settled();
        Ok(late.len() as u64 == BATCH)
    }

    /// The time limits of the runs that wait for another attempt, by workflow version.
    async fn allowed(&self, now: DateTime<Utc>) -> Result<Vec<RunTimeLimit>, EngineError> {
        let core = &self.core;
        let mut allowed = Vec::new();
        for (workflow_id, version) in core.store.versions_that_wait_again(now.into()).await? {
            let read = core.store.read();
            let known = core.definitions.known(&core.store, read, workflow_id, version).await?;
            // If the definition cannot be read, the node that takes the run reports that.
            if let Ok(known) = known
                && let Some(limit_ms) = known.definition.timeout_ms
            {
                allowed.push(RunTimeLimit { workflow_id, version, limit_ms });
            }
        }
        Ok(allowed)
    }

    /// Ends a batch of runs whose time limit has passed while they wait for another attempt.
    /// No task of these runs is in progress.
    async fn time_out(
        &self,
        lease: &LeaseTerm,
        allowed: &[RunTimeLimit],
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(false) };
        let overdue = core.store.lock_overdue_runs(&tx, allowed, now.into(), BATCH).await?;
        if overdue.is_empty() {
            tx.rollback().await?;
            return Ok(false);
        }
        let runs: Vec<_> =
            overdue.iter().map(|run| (run.id, flow::out_of_time(run.limit_ms))).collect();
        core.store.time_out_locked_runs(&tx, &runs, now.into()).await?;
        core.store.commit(tx).await?;
        report.timed_out += overdue.len();
        for run in &overdue {
            let took = (now - run.started_at.utc()).to_std().unwrap_or_default();
            let state = run::State::TimedOut.to_value();
            core.metrics.execution(run.schedule_id, state, took, true);
        }
        core.run_settled();
        core.signals.wake_backfill();
        Ok(overdue.len() as u64 >= BATCH)
    }
}
