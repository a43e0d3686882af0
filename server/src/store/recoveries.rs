//! What went wrong and can be found in the tables: intents that nobody handed over, runs on nodes
//! that died, attempts that outlived every limit.

use entity::Timestamp;
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{
    DatabaseTransaction, Store, StoreError,
    bulk::Bulk,
    days::Days,
    handoffs::{Decided, INTENT_COLUMNS, Intent},
};

/// A running attempt that its node will not bring to an end.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Stray {
    /// The run.
    pub id: Uuid,
    /// The fire that started it.
    pub fire_id: Option<Uuid>,
    /// What it runs.
    pub workflow_id: Uuid,
    /// In which version.
    pub workflow_version: i32,
    /// The instant that it stands for.
    pub scheduled_at: Timestamp,
    /// When it was handed over.
    pub created_at: Timestamp,
    /// The attempt.
    pub attempt: i32,
    /// Attempts allowed.
    pub max_attempts: i32,
    /// How often recovery has taken it over.
    pub recovery_attempts: i32,
    /// The node that held it.
    pub node_id: Uuid,
    /// The term of that hold.
    pub epoch: i64,
    /// What travels with it.
    pub context: serde_json::Value,
    /// When somebody asked to stop it.
    pub cancel_requested_at: Option<Timestamp>,
    /// The task at work.
    pub task: Option<String>,
    /// Whether the schedule that fired it is gone; false without one.
    pub deleted: bool,
    /// Whether that schedule is paused; false without one.
    pub paused: bool,
}

const STRAY_COLUMNS: &str = "run.id, run.fire_id, run.workflow_id, run.workflow_version, \
    run.scheduled_at, run.created_at, run.attempt, run.max_attempts, run.recovery_attempts, \
    run.node_id, run.epoch, run.context, run.cancel_requested_at, \
    (SELECT t.task FROM task_run t WHERE t.run_id = run.id AND t.attempt = run.attempt \
        AND t.state = 'running' LIMIT 1) AS task, \
    (run.trigger = 'schedule' AND (s.id IS NULL OR s.deleted_at IS NOT NULL)) AS deleted, \
    (run.trigger = 'schedule' AND NOT coalesce(s.enabled, true)) AS paused";

impl Store {
    /// Intents without a run whose owner is gone, or that were claimed before `before`; locked.
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
               AND (node.id IS NULL OR fire.claimed_at < $1) \
             ORDER BY fire.claimed_at LIMIT $2 {}",
            self.dialect().skip_locked("fire")
        );
        let values = [before.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(Intent::find_by_statement(statement).all(tx).await?)
    }

    /// Intents that `node` has claimed and that have no run yet, the oldest first.
    pub async fn intents_of(&self, node: Uuid, limit: u64) -> Result<Vec<Intent>, StoreError> {
        let sql = format!(
            "SELECT {INTENT_COLUMNS} FROM fire \
             WHERE fire.verdict = 'pending' AND fire.run_id IS NULL AND fire.claimed_by = $1 \
             ORDER BY fire.claimed_at LIMIT $2"
        );
        let values = [node.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(Intent::find_by_statement(statement).all(self.read()).await?)
    }

    /// Counts an attempt of recovery on intents that this transaction holds, and takes them over.
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
        let days = Days::of_instants("fire.scheduled_at", intents.iter().map(|i| i.scheduled_at));
        let statement = Bulk::default().uuid("id", intents.iter().map(|i| i.id)).days(days).statement(
            self.dialect(),
            "UPDATE fire SET recovery_attempts = fire.recovery_attempts + 1, recovery_at = {1}, \
               claimed_by = {0}, claimed_at = {1} FROM v WHERE fire.id = v.id {days}",
            vec![node.into(), now.0.into()],
        );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Running attempts whose node is dead or has left; locked.
    pub async fn lock_orphaned_runs(
        &self,
        tx: &DatabaseTransaction,
        limit: u64,
    ) -> Result<Vec<Stray>, StoreError> {
        let sql = format!(
            "SELECT {STRAY_COLUMNS} FROM run \
             LEFT JOIN schedule s ON s.id = run.schedule_id \
             LEFT JOIN node ON node.id = run.node_id AND node.state = 'alive' \
             WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running' \
               AND node.id IS NULL ORDER BY run.id LIMIT $1 {}",
            self.dialect().skip_locked("run")
        );
        let statement = self.dialect().statement(sql, [limit.cast_signed().into()]);
        Ok(Stray::find_by_statement(statement).all(tx).await?)
    }

    /// Running attempts over their hard deadline on the database's clock, wherever they are; locked.
    pub async fn lock_overrun_runs(
        &self,
        tx: &DatabaseTransaction,
        limit: u64,
    ) -> Result<Vec<Stray>, StoreError> {
        let sql = format!(
            "SELECT {STRAY_COLUMNS} FROM run LEFT JOIN schedule s ON s.id = run.schedule_id \
             WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running' \
               AND run.hard_deadline_at < {} ORDER BY run.id LIMIT $1 {}",
            self.dialect().now(),
            self.dialect().skip_locked("run")
        );
        let statement = self.dialect().statement(sql, [limit.cast_signed().into()]);
        Ok(Stray::find_by_statement(statement).all(tx).await?)
    }

    /// Marks runs that this transaction has settled as taken over by recovery: their context says
    /// so, and the old term is over.
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
        let statement = Bulk::default()
            .uuid("id", runs.iter().map(|(id, _)| *id))
            .json("context", runs.iter().map(|(_, context)| context.clone()))
            .days(Days::of_keys("run.id", runs.iter().map(|(id, _)| *id)))
            .statement(self.dialect(), sql, vec![]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Writes the verdict on started fires whose run recovery gave up.
    pub async fn abandon_started_fires(
        &self,
        tx: &DatabaseTransaction,
        fires: &[Decided],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if fires.is_empty() {
            return Ok(());
        }
        let statement = Bulk::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .text("verdict", fires.iter().map(|fire| fire.verdict.to_value()))
            .text("reason", fires.iter().map(|fire| fire.reason.to_value()))
            .text("detail", fires.iter().map(|fire| fire.detail.clone()))
            .days(Days::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
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
