//! Takes over runs whose node is gone, and disowns attempts that a node does not know.

use chrono::{DateTime, Utc};
use entity::fire::Verdict;

use super::{
    BATCH, Recovery, RecoveryReport,
    fate::{OrphanFate, judge, orphaned, settlement},
};
use crate::{
    engine::{EngineError, cluster::LeaseTerm, execution::handoff},
    store::{handoffs::DecidedFire, holds::RunLease},
};

impl Recovery {
    /// Disowns attempts that the tables assign to this node but that it does not know.
    /// Reads the tables first and memory second: memory knows an attempt from before the tables
    /// assign it until after they say that it has ended.
    /// Attempts that have ended in the meantime are not written.
    pub(super) async fn disown_unknown(&self) -> Result<(), EngineError> {
        let core = &self.core;
        let held = core.store.held_by(core.node_id().await).await?;
        let unknown: Vec<RunLease> =
            held.into_iter().filter(|hold| !core.registry.knows(hold)).collect();
        if unknown.is_empty() || core.is_gone() {
            return Ok(());
        }
        let tx = core.store.begin().await?;
        let disowned = core.store.disown_if_held(&tx, &unknown).await?;
        core.store.commit(tx).await?;
        // Usually there are none: an attempt that has ended since the tables were read is not lost.
        if disowned > 0 {
            tracing::warn!(
                attempts = disowned,
                "this node released attempts that it never started"
            );
        }
        Ok(())
    }

    /// Declares silent nodes dead, and takes over the runs of all dead nodes.
    pub(super) async fn take_over_all(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        // A heartbeat that only looks old because the database's clock
        // was stepped must not count as a long silence.
        let living = self.core.store.living_nodes().await?;
        self.core.cluster.watch(&living, self.core.clock.instant());
        while self.take_over_orphans(lease, now, report).await? {}
        Ok(())
    }

    async fn take_over_orphans(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<bool, EngineError> {
        let core = &self.core;
        let node = core.node_id().await;
        let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(false) };
        let expired = if self.grace.spares(core.clock.instant()) {
            Vec::new()
        } else {
            let silent = core.cluster.silent(core.clock.instant());
            let expiry = core.settings.heartbeat_expiry;
            core.store.expire_other_nodes(&tx, node, &silent, expiry).await?
        };
        let strays = core.store.lock_orphaned_runs(&tx, BATCH).await?;
        if expired.is_empty() && strays.is_empty() {
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
                OrphanFate::TakeOver => {
                    let mut context = stray.context.clone();
                    let execution = stray.fire_id.unwrap_or(stray.id);
                    let at = stray.scheduled_at.utc();
                    handoff::mark_recovery(&mut context, execution, at, now);
                    recovered.push((stray.id, context));
                }
                OrphanFate::Abandon(reason) => {
                    // A retry names the fire of the run that it repeats, and a backfill's run names
                    // the row of its instant. The verdicts of both stay as they are.
                    if let Some(id) = stray.fire_id.filter(|fire| *fire == stray.id) {
                        let detail = format!("run {} was on a node that died", stray.id);
                        abandoned.push(DecidedFire {
                            id,
                            scheduled_at: stray.scheduled_at,
                            verdict: Verdict::Abandoned,
                            reason,
                            detail: Some(detail),
                        });
                    }
                    report.abandoned += 1;
                }
                OrphanFate::Cancel => {}
            }
        }
        let ended = self.settle(&tx, &settlements, now).await?;
        core.store.mark_recovered(&tx, &recovered).await?;
        core.store.abandon_started_fires(&tx, &abandoned, now.into()).await?;
        core.store.commit(tx).await?;
        self.count_ended(&strays, &settlements, &ended);
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
}
