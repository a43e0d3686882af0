//! Finds failures that the tables show: intents that were never handed over, runs on dead nodes,
//! and attempts that have exceeded every limit.

use std::time::Duration;

use entity::Timestamp;
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{
    handoffs::{DecidedFire, INTENT_COLUMNS, Intent},
    holds::{HELD, RunLease, of_holds},
};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, days::DayRange},
};

/// A running attempt that its node will not finish.
#[derive(Clone, Debug, FromQueryResult)]
pub struct OrphanedAttempt {
    /// The key of the run.
    pub id: Uuid,
    /// The fire that started the run.
    pub fire_id: Option<Uuid>,
    /// The run's schedule, if it has one.
    pub schedule_id: Option<Uuid>,
    /// The workflow that the run executes.
    pub workflow_id: Uuid,
    /// The workflow's version.
    pub workflow_version: i32,
    /// The scheduled instant for which the run was started.
    pub scheduled_at: Timestamp,
    /// When the run was created by the hand-off.
    pub created_at: Timestamp,
    /// When the first attempt of the run started.
    pub started_at: Option<Timestamp>,
    /// The number of the attempt.
    pub attempt: i32,
    /// Maximum number of attempts.
    pub max_attempts: i32,
    /// How many times recovery has taken the run over.
    pub recovery_attempts: i32,
    /// The node that held the run.
    pub node_id: Uuid,
    /// The epoch of the node's hold.
    pub epoch: i64,
    /// When the attempt exceeds every limit, by the database's clock.
    pub hard_deadline_at: Option<Timestamp>,
    /// The run's context.
    pub context: serde_json::Value,
    /// When the cancellation of the run was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// The task that was being executed.
    pub task: Option<String>,
    /// Whether the run's schedule was deleted; false if the run has none.
    pub deleted: bool,
    /// Whether the run's schedule is paused; false if the run has none.
    pub paused: bool,
}

/// An attempt that is past its hard deadline by the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromQueryResult)]
pub struct OverdueAttempt {
    /// The hold on the attempt.
    #[sea_orm(nested)]
    pub hold: RunLease,
    /// The hard deadline. In a run of several tasks, each step has a deadline of its own.
    pub hard_deadline_at: Timestamp,
    /// The workflow that the run executes.
    pub workflow_id: Uuid,
    /// The workflow's version.
    pub workflow_version: i32,
}

/// Which kinds of work need recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkToRecover {
    /// Whether there are nodes whose heartbeat has expired, or runs whose node is gone.
    pub orphans: bool,
    /// Whether there are attempts past their hard deadline.
    pub overruns: bool,
    /// Whether there are intents without a run.
    pub intents: bool,
}

/// Since when the present owner has had an intent. When recovery takes an intent over, `claimed_at`
/// stays unchanged, because the age of the intent counts from it.
const OWNED_SINCE: &str = "coalesce(fire.recovery_at, fire.claimed_at)";

const STRAY_COLUMNS: &str = "run.id, run.fire_id, run.schedule_id, run.workflow_id, \
    run.workflow_version, run.scheduled_at, run.created_at, run.started_at, run.attempt, run.max_attempts, run.recovery_attempts, \
    run.node_id, run.epoch, run.hard_deadline_at, run.context, run.cancel_requested_at, \
    (SELECT t.task FROM task_run t WHERE t.run_id = run.id AND t.attempt = run.attempt \
        AND t.state = 'running' LIMIT 1) AS task, \
    (run.trigger = 'schedule' AND (s.id IS NULL OR s.deleted_at IS NOT NULL)) AS deleted, \
    (run.trigger = 'schedule' AND NOT coalesce(s.enabled, true)) AS paused";

impl WorkToRecover {
    /// All kinds of work. Used if the check for work to recover failed.
    pub const ANY: Self = Self { orphans: true, overruns: true, intents: true };
}

impl Store {
    /// Whether there is anything to recover. The check takes no locks: usually there is nothing,
    /// and a lock is a write for which others would have to wait.
    pub async fn astray(
        &self,
        own: Uuid,
        expiry: Duration,
        before: Timestamp,
    ) -> Result<WorkToRecover, StoreError> {
        #[derive(FromQueryResult)]
        struct StrayCounts {
            orphans: i64,
            overruns: i64,
            intents: i64,
        }
        const AT_WORK: &str = "SELECT 1 FROM run \
            WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running'";
        let now = self.dialect().now();
        let is_there = |what: &str| format!("CAST(CASE WHEN {what} THEN 1 ELSE 0 END AS bigint)");
        let orphans = is_there(&format!(
            "EXISTS (SELECT 1 FROM node WHERE state = 'alive' AND heartbeat_at < {now} - $1 \
               AND id <> $2) \
             OR EXISTS ({AT_WORK} AND NOT EXISTS (SELECT 1 FROM node \
               WHERE node.id = run.node_id AND node.state = 'alive'))"
        ));
        let overruns = is_there(&format!("EXISTS ({AT_WORK} AND run.hard_deadline_at < {now})"));
        let intents = is_there(&format!(
            "EXISTS (SELECT 1 FROM fire WHERE fire.verdict = 'pending' AND fire.run_id IS NULL \
               AND fire.claimed_by IS NOT NULL \
               AND ({OWNED_SINCE} < $3 OR NOT EXISTS (SELECT 1 FROM node \
                 WHERE node.id = fire.claimed_by AND node.state = 'alive')))"
        ));
        let sql =
            format!("SELECT {orphans} AS orphans, {overruns} AS overruns, {intents} AS intents");
        let expiry = i64::try_from(expiry.as_millis()).unwrap_or(i64::MAX);
        let values = [expiry.into(), own.into(), before.0.into()];
        let row = StrayCounts::find_by_statement(self.dialect().statement(sql, values));
        let row = row.one(self.rounds()).await?;
        Ok(row.map_or_else(WorkToRecover::default, |row| WorkToRecover {
            orphans: row.orphans > 0,
            overruns: row.overruns > 0,
            intents: row.intents > 0,
        }))
    }

    /// Intents without a run whose owner is gone, or whose owner got them before `before`.
    /// They are locked until the transaction ends.
    pub async fn lock_lost_intents(
        &self,
        tx: &DatabaseTransaction,
        before: Timestamp,
        limit: u64,
    ) -> Result<Vec<Intent>, StoreError> {
        let sql = format!(
            "SELECT {INTENT_COLUMNS} FROM fire \
             LEFT JOIN node ON node.id = fire.claimed_by AND node.state = 'alive' \
             WHERE fire.verdict = 'pending' AND fire.run_id IS NULL \
               AND fire.claimed_by IS NOT NULL \
               AND (node.id IS NULL OR {OWNED_SINCE} < $1) \
             ORDER BY fire.claimed_at LIMIT $2 {}",
            self.dialect().skip_locked("fire")
        );
        let values = [before.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(Intent::find_by_statement(statement).all(tx).await?)
    }

    /// Intents that `node` has claimed and that have no run yet, oldest first.
    pub async fn intents_of(&self, node: Uuid, limit: u64) -> Result<Vec<Intent>, StoreError> {
        let sql = format!(
            "SELECT {INTENT_COLUMNS} FROM fire \
             WHERE fire.verdict = 'pending' AND fire.run_id IS NULL AND fire.claimed_by = $1 \
             ORDER BY fire.claimed_at LIMIT $2"
        );
        let values = [node.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(Intent::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Counts a recovery attempt for intents that this
    /// transaction has locked, and makes `node` their owner.
    pub async fn count_recovery(
        &self,
        tx: &DatabaseTransaction,
        intents: &[Intent],
        node: Uuid,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if intents.is_empty() {
            return Ok(());
        }
        let days =
            DayRange::of_instants("fire.scheduled_at", intents.iter().map(|i| i.scheduled_at));
        let statement = BulkValues::default().uuid("id", intents.iter().map(|i| i.id)).days(days).statement(
            self.dialect(),
            "UPDATE fire SET recovery_attempts = fire.recovery_attempts + 1, recovery_at = {1}, \
               claimed_by = {0} FROM v WHERE fire.id = v.id {days}",
            vec![node.into(), now.0.into()],
        );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Running attempts whose node is dead or has left, locked until the transaction ends.
    pub async fn lock_orphaned_runs(
        &self,
        tx: &DatabaseTransaction,
        limit: u64,
    ) -> Result<Vec<OrphanedAttempt>, StoreError> {
        let sql = format!(
            "SELECT {STRAY_COLUMNS} FROM run \
             LEFT JOIN schedule s ON s.id = run.schedule_id \
             LEFT JOIN node ON node.id = run.node_id AND node.state = 'alive' \
             WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running' \
               AND node.id IS NULL ORDER BY run.id LIMIT $1 {}",
            self.dialect().skip_locked("run")
        );
        let statement = self.dialect().statement(sql, [limit.cast_signed().into()]);
        Ok(OrphanedAttempt::find_by_statement(statement).all(tx).await?)
    }

    /// Running attempts past their hard deadline by the database's clock,
    /// on live nodes other than `own`. They are not locked.
    pub async fn overdue_elsewhere(
        &self,
        own: Uuid,
        limit: u64,
    ) -> Result<Vec<OverdueAttempt>, StoreError> {
        let sql = format!(
            "SELECT run.id AS run_id, run.attempt, run.node_id, run.epoch, run.hard_deadline_at, \
               run.workflow_id, run.workflow_version \
             FROM run JOIN node ON node.id = run.node_id AND node.state = 'alive' \
             WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running' \
               AND run.hard_deadline_at < {} AND run.node_id <> $1 ORDER BY run.id LIMIT $2",
            self.dialect().now()
        );
        let values = [own.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(OverdueAttempt::find_by_statement(statement).all(self.read()).await?)
    }

    /// Running attempts whose hold has not changed, locked until the transaction ends.
    pub async fn lock_if_held(
        &self,
        tx: &DatabaseTransaction,
        holds: &[RunLease],
    ) -> Result<Vec<OrphanedAttempt>, StoreError> {
        if holds.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {STRAY_COLUMNS} FROM v JOIN run ON {HELD} {{days}} \
             LEFT JOIN schedule s ON s.id = run.schedule_id \
             WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running' \
             ORDER BY run.id {}",
            self.dialect().skip_locked("run")
        );
        let statement = of_holds(holds.iter().copied()).statement(self.dialect(), &sql, vec![]);
        Ok(OrphanedAttempt::find_by_statement(statement).all(tx).await?)
    }

    /// Marks runs that this transaction has settled as taken over by recovery, also in their
    /// context. Ends the epoch of the old hold.
    pub async fn mark_recovered(
        &self,
        tx: &DatabaseTransaction,
        runs: &[(Uuid, serde_json::Value)],
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let sql = "UPDATE run SET is_recovery = true, context = v.context, \
               recovery_attempts = run.recovery_attempts + 1, epoch = run.epoch + 1 \
             FROM v WHERE run.id = v.id {days}";
        let statement = BulkValues::default()
            .uuid("id", runs.iter().map(|(id, _)| *id))
            .json("context", runs.iter().map(|(_, context)| context.clone()))
            .days(DayRange::of_keys("run.id", runs.iter().map(|(id, _)| *id)))
            .statement(self.dialect(), sql, vec![]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Sets the verdict of started fires whose run recovery has given up.
    pub async fn abandon_started_fires(
        &self,
        tx: &DatabaseTransaction,
        fires: &[DecidedFire],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if fires.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .text("verdict", fires.iter().map(|fire| fire.verdict.to_value()))
            .text("reason", fires.iter().map(|fire| fire.reason.to_value()))
            .text("detail", fires.iter().map(|fire| fire.detail.clone()))
            .days(DayRange::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
            .statement(
                self.dialect(),
                "UPDATE fire SET verdict = v.verdict, reason = v.reason, detail = v.detail, \
                   decided_at = {0} \
                 FROM v WHERE fire.id = v.id AND fire.verdict = 'started' {days}",
                vec![now.0.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }
}
