//! Ends attempts that have exceeded every limit: their timeout,
//! the time allowed for killing them, and a margin.
//!
//! The time that an attempt has taken is a duration, which the monotonic clock measures.
//! So a node ends its own attempts by its own clock alone. If a node is stuck but still sends
//! heartbeats, other nodes end its attempts, but only after they have watched an attempt for its
//! whole limit, counted from its deadline on the database's clock. This may be late by up
//! to the limit, but it is never wrong: a step of the database's clock cannot end a live attempt.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{
    Recovery, RecoveryReport,
    fate::{hold, settlement, stuck},
};
use crate::{
    engine::{
        EngineError,
        cluster::LeaseTerm,
        core::StopReason,
        execution::settle::{self, AttemptContext},
    },
    model::Task,
    random,
    store::{
        DatabaseTransaction,
        holds::{RunLease, Settlement},
        recoveries::{OrphanedAttempt, OverdueAttempt},
    },
    target::{Noop, Target},
};

/// Maximum number of other nodes' attempts that are watched, oldest runs first.
/// The others are watched when these have ended.
const MAX_WATCHED: u64 = 10_000;
/// Maximum number of attempts that one transaction ends.
const TOGETHER: usize = 500;

impl Recovery {
    /// Ends attempts of this node that took too long. An attempt that ended during an outage counts
    /// as in progress until its lines are written, so it gets time for that afterwards.
    pub(super) async fn end_own_overruns(
        &self,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        let core = &self.core;
        let outlived: Vec<RunLease> = core.outlived().into_iter().collect();
        if core.is_gone() || self.grace.spares(core.clock.instant()) {
            return Ok(());
        }
        for some in outlived.chunks(TOGETHER) {
            let tx = core.store.begin().await?;
            let mut strays = core.store.lock_if_held(&tx, some).await?;
            // If an attempt has ended in the meantime, its settlement is already under way.
            let still = core.outlived();
            strays.retain(|stray| still.contains(&hold(stray)));
            self.time_out_locked(tx, &strays, now, report).await?;
        }
        Ok(())
    }

    /// Ends attempts of other live nodes that those nodes do not end themselves.
    pub(super) async fn end_overruns(
        &mut self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        let core = self.core.clone();
        let own = core.node_id().await;
        let overdue = core.store.overdue_elsewhere(own, MAX_WATCHED).await?;
        let mut limits = HashMap::new();
        for OverdueAttempt { workflow_id, workflow_version, .. } in &overdue {
            let key = (*workflow_id, *workflow_version);
            if limits.contains_key(&key) {
                continue;
            }
            // If this node cannot read the definition, the run's own node may be able to read it,
            // and then only that node knows the limit.
            let (read, version) = (core.store.read(), *workflow_version);
            let known = core.definitions.known(&core.store, read, *workflow_id, version).await?;
            let limit = known.ok().map(|known| known.longest(core.settings.heartbeat_expiry));
            limits.insert(key, limit);
        }
        let instant = core.clock.instant();
        self.watch.look(overdue, instant);
        let limit = |overdue: &OverdueAttempt| {
            *limits.get(&(overdue.workflow_id, overdue.workflow_version))?
        };
        let outlived = self.watch.outlived(instant, limit);
        for some in outlived.chunks(TOGETHER) {
            let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(()) };
            let holds: Vec<RunLease> = some.iter().map(|overdue| overdue.hold).collect();
            let mut strays = core.store.lock_if_held(&tx, &holds).await?;
            // A run of several tasks may have begun its next step in the meantime.
            let deadline = |hold: RunLease| {
                let same = some.iter().find(|overdue| overdue.hold == hold);
                same.map(|overdue| overdue.hard_deadline_at)
            };
            strays.retain(|stray| stray.hard_deadline_at == deadline(hold(stray)));
            self.time_out_locked(tx, &strays, now, report).await?;
        }
        Ok(())
    }

    async fn time_out_locked(
        &self,
        tx: DatabaseTransaction,
        strays: &[OrphanedAttempt],
        now: DateTime<Utc>,
        report: &mut RecoveryReport,
    ) -> Result<(), EngineError> {
        let core = &self.core;
        if strays.is_empty() {
            tx.rollback().await?;
            return Ok(());
        }
        let mut settlements = Vec::with_capacity(strays.len());
        for stray in strays {
            settlements.push(self.timed_out(&tx, stray, now).await?);
        }
        let ended = self.settle(&tx, &settlements, now).await?;
        core.store.commit(tx).await?;
        self.count_ended(strays, &settlements, &ended);
        report.overruns += ended.len();
        // Stop this node's own attempts among them: their outcome would be refused anyway.
        core.registry.stop(StopReason::Lost, |hold| ended.contains(hold));
        if !ended.is_empty() {
            core.signals.wake_dispatcher();
            core.run_settled();
            core.signals.wake_backfill();
        }
        Ok(())
    }

    async fn timed_out(
        &self,
        tx: &DatabaseTransaction,
        stray: &OrphanedAttempt,
        now: DateTime<Utc>,
    ) -> Result<Settlement, EngineError> {
        let core = &self.core;
        let (workflow, version) = (stray.workflow_id, stray.workflow_version);
        let known = core.definitions.known(&core.store, tx, workflow, version).await?;
        // Without the definition, no node could make another attempt.
        let nothing = Task::new("main", Target::Noop(Noop::default()));
        let (task, max_attempts) = match &known {
            Ok(known) if known.is_flow() => return Ok(settlement(stray, stuck(now), now)),
            Ok(known) => (known.task(0), stray.max_attempts),
            Err(_) => (&nothing, stray.attempt),
        };
        let attempt = stray.attempt;
        let standing = AttemptContext { attempt, max_attempts, task, now, random: random::unit() };
        Ok(settlement(stray, settle::overrun(standing), now))
    }
}
