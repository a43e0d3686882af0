//! Creates, takes and cancels live runs.
//! `queue` finds waiting runs, and `holds` writes what a node does about its attempts.

use std::time::Duration;

use entity::{Timestamp, run};
use sea_orm::{ConnectionTrait, EntityTrait};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, days::DayRange},
};

/// A run that a node takes, which begins its next attempt.
#[derive(Clone, Debug)]
pub struct TakenRun {
    /// The key of the run.
    pub run_id: Uuid,
    /// The task whose attempt begins; `None` for a flow, which begins its tasks itself.
    pub task: Option<String>,
    /// The number of the new attempt.
    pub attempt: i32,
    /// The epoch of the new hold.
    pub epoch: i64,
    /// How long until any node may declare the attempt timed out.
    pub hard_limit: Duration,
}

impl Store {
    /// Begins an attempt of each of these runs, which this transaction has locked.
    pub async fn take_locked_runs(
        &self,
        tx: &DatabaseTransaction,
        takes: &[TakenRun],
        node: Uuid,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if takes.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE run SET state = 'running', attempt = v.attempt, epoch = v.epoch, \
               node_id = {{0}}, started_at = coalesce(started_at, {{1}}), \
               hard_deadline_at = {} + v.hard_limit, changed = {} \
             FROM v WHERE run.id = v.id {{days}}",
            self.dialect().now(),
            self.dialect().stamp("run")
        );
        let statement = BulkValues::default()
            .uuid("id", takes.iter().map(|take| take.run_id))
            .int("attempt", takes.iter().map(|take| i64::from(take.attempt)))
            .int("epoch", takes.iter().map(|take| take.epoch))
            .int("hard_limit", takes.iter().map(|take| millis(take.hard_limit)))
            .days(DayRange::of_keys("run.id", takes.iter().map(|take| take.run_id)))
            .statement(self.dialect(), &sql, vec![node.into(), now.0.into()]);
        tx.execute_raw(statement).await?;
        let begun = || takes.iter().filter(|take| take.task.is_some());
        if begun().next().is_none() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .uuid("run_id", begun().map(|take| take.run_id))
            .text("task", begun().map(|take| take.task.clone()))
            .int("attempt", begun().map(|take| i64::from(take.attempt)))
            .statement(
                self.dialect(),
                "INSERT INTO task_run (run_id, task, attempt, state, node_id, started_at) \
                 SELECT run_id, task, attempt, 'running', {0}, {1} FROM v WHERE true",
                vec![node.into(), now.0.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Ends runs that this transaction has locked and no node can execute.
    pub async fn fail_locked_runs(
        &self,
        tx: &DatabaseTransaction,
        runs: &[(Uuid, String)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE run SET state = 'failed', error = v.error, finished_at = {{0}}, changed = {} \
             FROM v WHERE run.id = v.id {{days}}",
            self.dialect().stamp("run")
        );
        let statement = BulkValues::default()
            .uuid("id", runs.iter().map(|(id, _)| *id))
            .text("error", runs.iter().map(|(_, error)| error.clone()))
            .days(DayRange::of_keys("run.id", runs.iter().map(|(id, _)| *id)))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Ends runs that this transaction has locked and whose fires have waited for a place beyond
    /// their start deadline. The fires are skipped.
    pub async fn skip_locked_runs(
        &self,
        tx: &DatabaseTransaction,
        runs: &[(Uuid, Timestamp)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE run SET state = 'cancelled', cancel_requested_at = {{0}}, \
               cancel_by = 'carillon', cancel_reason = 'its start deadline had passed', \
               finished_at = {{0}}, changed = {} \
             FROM v WHERE run.id = v.id {{days}}",
            self.dialect().stamp("run")
        );
        let days = DayRange::of_keys("run.id", runs.iter().map(|(id, _)| *id));
        let ids = BulkValues::default().uuid("id", runs.iter().map(|(id, _)| *id));
        tx.execute_raw(ids.days(days).statement(self.dialect(), &sql, vec![now.0.into()])).await?;
        let days = DayRange::of_instants("fire.scheduled_at", runs.iter().map(|(_, at)| *at));
        let ids = BulkValues::default().uuid("id", runs.iter().map(|(id, _)| *id));
        let statement = ids.days(days).statement(
            self.dialect(),
            "UPDATE fire SET verdict = 'skipped', reason = 'deadline', decided_at = {0} \
             FROM v WHERE fire.id = v.id AND fire.verdict = 'started' {days}",
            vec![now.0.into()],
        );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// The run with this key.
    pub async fn run(
        &self,
        connection: &impl ConnectionTrait,
        id: Uuid,
    ) -> Result<Option<run::Model>, StoreError> {
        Ok(run::Entity::find_by_id(id).one(connection).await?)
    }

    /// Writes a requested run as queued.
    pub async fn insert_queued_run(
        &self,
        tx: &DatabaseTransaction,
        run: run::ActiveModel,
    ) -> Result<run::Model, StoreError> {
        let row = run::Entity::insert(run).exec_with_returning(tx).await?;
        let sql = format!(
            "UPDATE run SET changed = {} WHERE id = $1 {}",
            self.dialect().stamp("run"),
            self.dialect().within(DayRange::of_keys("id", [row.id].into_iter()))
        );
        tx.execute_raw(self.dialect().statement(sql, [row.id.into()])).await?;
        Ok(row)
    }

    /// Cancels a run immediately if it is not running, or else asks its node to stop it.
    pub async fn cancel_if_live(
        &self,
        tx: &DatabaseTransaction,
        run_id: Uuid,
        by: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = format!(
            "UPDATE run SET {} WHERE id = $1 AND state IN ('queued', 'running', 'retrying') {}",
            self.cancelled("$2", "$3", "$4"),
            self.dialect().within(DayRange::of_keys("id", [run_id].into_iter()))
        );
        let reason = reason.map(str::to_owned);
        let values = [run_id.into(), now.0.into(), by.into(), reason.into()];
        let result = tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(result.rows_affected() > 0)
    }

    /// Cancels those of `runs` that are live and that no other transaction has locked. Returns
    /// their number. It never waits, so the caller may hold other locks.
    /// To cancel all of them, the caller must call it again.
    pub async fn cancel_if_live_and_free(
        &self,
        tx: &DatabaseTransaction,
        runs: &[Uuid],
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        if runs.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "UPDATE run SET {} FROM (SELECT run.id AS id FROM v JOIN run ON run.id = v.id \
               WHERE run.state IN ('queued', 'running', 'retrying') {{days}} {}) free \
             WHERE run.id = free.id {{days}}",
            self.cancelled("{0}", "{1}", "{2}"),
            self.dialect().skip_locked("run")
        );
        let values = vec![now.0.into(), by.into(), reason.into()];
        let days = DayRange::of_keys("run.id", runs.iter().copied());
        let ids = BulkValues::default().uuid("id", runs.iter().copied()).days(days);
        let cancelled = tx.execute_raw(ids.statement(self.dialect(), &sql, values)).await?;
        Ok(cancelled.rows_affected())
    }

    /// The columns to write for a run that should be stopped.
    /// If the stop was already requested, the first request stays.
    fn cancelled(&self, at: &str, by: &str, reason: &str) -> String {
        format!(
            "cancel_requested_at = coalesce(cancel_requested_at, {at}), \
             cancel_by = coalesce(cancel_by, {by}), \
             cancel_reason = coalesce(cancel_reason, {reason}), \
             finished_at = CASE WHEN state = 'running' THEN NULL ELSE {at} END, \
             state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END, changed = {}",
            self.dialect().stamp("run")
        )
    }
}

/// A duration in milliseconds, as the tables store it.
pub(in crate::store) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2)
}
