//! Runs in motion: taking them from the queue, settling them, taking them away. Every write of a
//! holder names its hold (run, attempt, node, epoch); zero rows means that it was lost.

use std::{collections::HashSet, time::Duration};

use entity::{Timestamp, run, task_run};
use sea_orm::{ActiveEnum, ConnectionTrait, DatabaseTransaction, EntityTrait, FromQueryResult};
use uuid::Uuid;

use super::{Store, StoreError, bulk::Bulk, claims::returned_ids};

/// What a node must know of a run that waits for it.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Waiting {
    /// The run.
    pub id: Uuid,
    /// The schedule, if one was involved.
    pub schedule_id: Option<Uuid>,
    /// Its name.
    pub schedule: Option<String>,
    /// The tenant's name.
    pub namespace: String,
    /// What it runs.
    pub workflow_id: Uuid,
    /// In which version.
    pub workflow_version: i32,
    /// See [`run::Trigger`].
    pub trigger: run::Trigger,
    /// The instant that it stands for.
    pub scheduled_at: Timestamp,
    /// When it was to run.
    pub due_at: Timestamp,
    /// When its first attempt started.
    pub started_at: Option<Timestamp>,
    /// Attempts so far.
    pub attempt: i32,
    /// Attempts allowed.
    pub max_attempts: i32,
    /// The term of the last hold.
    pub epoch: i64,
    /// What travels with it.
    pub context: serde_json::Value,
    /// For the receiver.
    pub idempotency_key: String,
}

/// A run that a node takes: the next attempt begins.
#[derive(Clone, Debug)]
pub struct Take {
    /// The run.
    pub run_id: Uuid,
    /// The task.
    pub task: String,
    /// The new attempt.
    pub attempt: i32,
    /// The new term.
    pub epoch: i64,
    /// From when on any node may declare it timed out.
    pub hard_deadline_at: Timestamp,
}

/// A node's hold on an attempt. What it names must still be so for a write to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The run.
    pub run_id: Uuid,
    /// The attempt.
    pub attempt: i32,
    /// The node.
    pub node_id: Uuid,
    /// The term.
    pub epoch: i64,
}

/// How an attempt ended, and what becomes of its run.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Whose.
    pub hold: Hold,
    /// The task.
    pub task: String,
    /// How the attempt ended.
    pub task_state: task_run::State,
    /// What becomes of the run.
    pub run_state: run::State,
    /// When the next attempt may start; for runs that go on.
    pub available_at: Option<Timestamp>,
    /// Why it ended badly.
    pub error: Option<String>,
    /// What the target gave back.
    pub output: Option<serde_json::Value>,
    /// Added to the attempts that the run may use: one for an attempt that the run lost without
    /// its own fault.
    pub extra_attempts: i32,
    /// When.
    pub at: Timestamp,
    /// How long the attempt took; for the metrics.
    pub took: Duration,
}

impl Store {
    /// The runs that wait and may start, the longest waiting first, locked.
    pub async fn lock_waiting_runs(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Waiting>, StoreError> {
        let sql = format!(
            "SELECT run.id, run.schedule_id, s.name AS schedule, n.name AS namespace, \
               run.workflow_id, run.workflow_version, run.trigger, run.scheduled_at, run.due_at, \
               run.started_at, run.attempt, run.max_attempts, run.epoch, run.context, \
               run.idempotency_key \
             FROM run JOIN namespace n ON n.id = run.namespace_id \
             LEFT JOIN schedule s ON s.id = run.schedule_id \
             WHERE run.state IN ('queued', 'retrying') AND run.available_at <= $1 \
             ORDER BY run.available_at, run.id LIMIT $2 {}",
            self.dialect().skip_locked("run")
        );
        let values = [now.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(Waiting::find_by_statement(statement).all(tx).await?)
    }

    /// When the next waiting run may start; overdue ones count.
    pub async fn next_waiting_at(&self) -> Result<Option<Timestamp>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            at: Option<i64>,
        }
        let statement = self.dialect().statement(
            "SELECT min(available_at) AS at FROM run WHERE state IN ('queued', 'retrying')",
            [],
        );
        let row = Row::find_by_statement(statement).one(self.read()).await?;
        Ok(row.and_then(|row| row.at).map(Timestamp))
    }

    /// Begins an attempt of each of the runs that this transaction has locked.
    pub async fn take_locked_runs(
        &self,
        tx: &DatabaseTransaction,
        takes: &[Take],
        node: Uuid,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if takes.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE run SET state = 'running', attempt = v.attempt, epoch = v.epoch, \
               node_id = {{0}}, started_at = coalesce(started_at, {{1}}), \
               hard_deadline_at = v.hard_deadline_at, changed = {} \
             FROM v WHERE run.id = v.id",
            self.dialect().stamp("run")
        );
        let statement = Bulk::default()
            .uuid("id", takes.iter().map(|take| take.run_id))
            .int("attempt", takes.iter().map(|take| i64::from(take.attempt)))
            .int("epoch", takes.iter().map(|take| take.epoch))
            .int("hard_deadline_at", takes.iter().map(|take| take.hard_deadline_at.0))
            .statement(self.dialect(), &sql, vec![node.into(), now.0.into()]);
        tx.execute_raw(statement).await?;
        let statement = Bulk::default()
            .uuid("run_id", takes.iter().map(|take| take.run_id))
            .text("task", takes.iter().map(|take| take.task.clone()))
            .int("attempt", takes.iter().map(|take| i64::from(take.attempt)))
            .statement(
                self.dialect(),
                "INSERT INTO task_run (run_id, task, attempt, state, node_id, started_at) \
                 SELECT run_id, task, attempt, 'running', {0}, {1} FROM v WHERE true",
                vec![node.into(), now.0.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Settles the attempts whose hold is still what the settlement names, and says which. The
    /// others were lost: somebody else decides about them.
    pub async fn settle_if_held(
        &self,
        tx: &DatabaseTransaction,
        settlements: &[Settlement],
    ) -> Result<HashSet<Uuid>, StoreError> {
        if settlements.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "UPDATE run SET state = v.state, error = v.error, \
               available_at = coalesce(v.available_at, run.available_at), \
               finished_at = v.finished_at, max_attempts = run.max_attempts + v.extra_attempts, \
               hard_deadline_at = NULL, changed = {} \
             FROM v WHERE run.id = v.run_id AND run.attempt = v.attempt \
               AND run.node_id = v.node_id AND run.epoch = v.epoch AND run.state = 'running' \
             RETURNING run.id",
            self.dialect().stamp("run")
        );
        let finished = |s: &Settlement| (!s.run_state.is_live()).then_some(s.at.0);
        let statement = Bulk::default()
            .uuid("run_id", settlements.iter().map(|s| s.hold.run_id))
            .int("attempt", settlements.iter().map(|s| i64::from(s.hold.attempt)))
            .uuid("node_id", settlements.iter().map(|s| s.hold.node_id))
            .int("epoch", settlements.iter().map(|s| s.hold.epoch))
            .text("state", settlements.iter().map(|s| s.run_state.to_value()))
            .text("error", settlements.iter().map(|s| s.error.clone()))
            .int("available_at", settlements.iter().map(|s| s.available_at.map(|at| at.0)))
            .int("finished_at", settlements.iter().map(finished))
            .int("extra_attempts", settlements.iter().map(|s| i64::from(s.extra_attempts)))
            .statement(self.dialect(), &sql, vec![]);
        let held = returned_ids(tx, statement).await?;

        let ended: Vec<&Settlement> =
            settlements.iter().filter(|s| held.contains(&s.hold.run_id)).collect();
        self.end_attempts(tx, &ended).await?;
        Ok(held)
    }

    async fn end_attempts(
        &self,
        tx: &DatabaseTransaction,
        ended: &[&Settlement],
    ) -> Result<(), StoreError> {
        if ended.is_empty() {
            return Ok(());
        }
        let statement = Bulk::default()
            .uuid("run_id", ended.iter().map(|s| s.hold.run_id))
            .text("task", ended.iter().map(|s| s.task.clone()))
            .int("attempt", ended.iter().map(|s| i64::from(s.hold.attempt)))
            .text("state", ended.iter().map(|s| s.task_state.to_value()))
            .int("finished_at", ended.iter().map(|s| s.at.0))
            .text("error", ended.iter().map(|s| s.error.clone()))
            .json("output", ended.iter().map(|s| s.output.clone()))
            .statement(
                self.dialect(),
                "UPDATE task_run SET state = v.state, finished_at = v.finished_at, \
                   error = v.error, output = v.output \
                 FROM v WHERE task_run.run_id = v.run_id AND task_run.task = v.task \
                   AND task_run.attempt = v.attempt AND task_run.state = 'running'",
                vec![],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// One run.
    pub async fn run(
        &self,
        connection: &impl ConnectionTrait,
        id: Uuid,
    ) -> Result<Option<run::Model>, StoreError> {
        Ok(run::Entity::find_by_id(id).one(connection).await?)
    }

    /// Writes a run that somebody asked for, into the queue.
    pub async fn insert_queued_run(
        &self,
        tx: &DatabaseTransaction,
        run: run::ActiveModel,
    ) -> Result<run::Model, StoreError> {
        let row = run::Entity::insert(run).exec_with_returning(tx).await?;
        let sql = format!("UPDATE run SET changed = {} WHERE id = $1", self.dialect().stamp("run"));
        tx.execute_raw(self.dialect().statement(sql, [row.id.into()])).await?;
        Ok(row)
    }

    /// Cancels a run that no node works on, or asks the node that does to stop it.
    pub async fn cancel_if_live(
        &self,
        tx: &DatabaseTransaction,
        run_id: Uuid,
        by: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = format!(
            "UPDATE run SET cancel_requested_at = coalesce(cancel_requested_at, $2), \
               cancel_by = coalesce(cancel_by, $3), cancel_reason = coalesce(cancel_reason, $4), \
               finished_at = CASE WHEN state = 'running' THEN NULL ELSE $2 END, \
               state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END, \
               changed = {} \
             WHERE id = $1 AND state IN ('queued', 'running', 'retrying')",
            self.dialect().stamp("run")
        );
        let reason = reason.map(str::to_owned);
        let values = [run_id.into(), now.0.into(), by.into(), reason.into()];
        let result = tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(result.rows_affected() > 0)
    }

    /// Of the runs that `node` works on, those that somebody wants stopped.
    pub async fn cancel_requests(&self, node: Uuid) -> Result<Vec<Uuid>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            id: Uuid,
        }
        let statement = self.dialect().statement(
            "SELECT id FROM run WHERE state IN ('queued', 'running', 'retrying') \
               AND state = 'running' AND node_id = $1 AND cancel_requested_at IS NOT NULL",
            [node.into()],
        );
        let rows = Row::find_by_statement(statement).all(self.read()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}
