//! A node's holds on attempts: settles, queries and ends them. Every write of a holder names its
//! hold (run, attempt, node, epoch). If it changes no row, the node has lost the run.

use std::{collections::HashSet, time::Duration};

use entity::{Timestamp, run, task_run};
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult, Statement};
use uuid::Uuid;

use crate::{
    store::{
        DatabaseTransaction, Store, StoreError,
        db::{bulk::BulkValues, days::DayRange, rows::KeyRow},
        logs::NewChunk,
    },
    telemetry::TracedRun,
};

/// A node's hold on an attempt. A write has an effect only if all of these values are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromQueryResult)]
pub struct RunLease {
    /// The key of the run.
    pub run_id: Uuid,
    /// The number of the attempt.
    pub attempt: i32,
    /// The node that holds the run.
    pub node_id: Uuid,
    /// The epoch of the hold.
    pub epoch: i64,
}

/// The end of an attempt, and what happens to its run.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The hold under which the attempt ended.
    pub hold: RunLease,
    /// The name of the task.
    pub task: String,
    /// The final state of the attempt.
    pub task_state: task_run::State,
    /// The run's new state.
    pub run_state: run::State,
    /// When the next attempt may start, if the run continues.
    pub available_at: Option<Timestamp>,
    /// The error of an attempt that did not succeed.
    pub error: Option<String>,
    /// The output of the target.
    pub output: Option<serde_json::Value>,
    /// The last log lines of the attempt, which are written together with it.
    pub lines: Option<NewChunk>,
    /// Added to the maximum number of attempts: 1 for an attempt
    /// that was lost through no fault of its own.
    pub extra_attempts: i32,
    /// When the attempt ended.
    pub at: Timestamp,
    /// How long the attempt took, for the metrics.
    pub took: Duration,
    /// The trace of the run, to be reported once the settlement is written.
    pub traced: Option<TracedRun>,
}

/// The columns that the writes of holders return: the holds.
pub(in crate::store) const RETURNED: &str = "run.id AS run_id, run.attempt, run.node_id, run.epoch";

/// The condition that a row of `v` is the current hold of a run.
pub(in crate::store) const HELD: &str = "run.id = v.run_id AND run.attempt = v.attempt \
    AND run.node_id = v.node_id AND run.epoch = v.epoch";

/// The condition that a run ends instead of going on, because its cancel request came too late to
/// reach the attempt.
pub(in crate::store) const STOPPED: &str =
    "v.state = 'retrying' AND run.cancel_requested_at IS NOT NULL";

/// The holds for which a write took effect.
pub(in crate::store) async fn written_holds(
    tx: &DatabaseTransaction,
    statement: Statement,
) -> Result<HashSet<RunLease>, StoreError> {
    Ok(RunLease::find_by_statement(statement).all(tx).await?.into_iter().collect())
}

/// The table `v` of a statement about holds.
pub(in crate::store) fn of_holds(holds: impl Iterator<Item = RunLease> + Clone) -> BulkValues {
    BulkValues::default()
        .uuid("run_id", holds.clone().map(|hold| hold.run_id))
        .int("attempt", holds.clone().map(|hold| i64::from(hold.attempt)))
        .uuid("node_id", holds.clone().map(|hold| hold.node_id))
        .int("epoch", holds.clone().map(|hold| hold.epoch))
        .days(DayRange::of_keys("run.id", holds.map(|hold| hold.run_id)))
}

impl Store {
    /// Settles the attempts whose hold has not changed, and returns their holds.
    /// The others were lost: another node decides about their runs.
    ///
    /// A batch may contain two settlements of one run: one for a lost hold, and one for the next
    /// hold. So results are reported by hold, never by run.
    pub async fn settle_if_held(
        &self,
        tx: &DatabaseTransaction,
        settlements: &[Settlement],
    ) -> Result<HashSet<RunLease>, StoreError> {
        if settlements.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "UPDATE run SET error = v.error, \
               state = CASE WHEN {STOPPED} THEN 'cancelled' ELSE v.state END, \
               available_at = coalesce(v.available_at, run.available_at), \
               finished_at = CASE WHEN {STOPPED} THEN v.at ELSE v.finished_at END, \
               max_attempts = run.max_attempts + v.extra_attempts, \
               hard_deadline_at = NULL, changed = {} \
             FROM v WHERE {HELD} AND {} {{days}}",
            self.dialect().stamp("run"),
            self.dialect().of_found("run.state = 'running'")
        );
        let finished = |s: &Settlement| (!s.run_state.is_live()).then_some(s.at.0);
        let statement = of_holds(settlements.iter().map(|s| s.hold))
            .text("state", settlements.iter().map(|s| s.run_state.to_value()))
            .text("error", settlements.iter().map(|s| s.error.clone()))
            .int("available_at", settlements.iter().map(|s| s.available_at.map(|at| at.0)))
            .int("at", settlements.iter().map(|s| s.at.0))
            .int("finished_at", settlements.iter().map(finished))
            .int("extra_attempts", settlements.iter().map(|s| i64::from(s.extra_attempts)))
            .statement(self.dialect(), &sql, vec![]);
        let held = match tx.execute_raw(statement).await?.rows_affected() {
            0 => HashSet::new(),
            all if all == settlements.len() as u64 => settlements.iter().map(|s| s.hold).collect(),
            _ => self.just_written(tx, settlements.iter().map(|s| s.hold)).await?,
        };

        let ended: Vec<&Settlement> =
            settlements.iter().filter(|s| held.contains(&s.hold)).collect();
        self.end_attempts(tx, &ended).await?;
        Ok(held)
    }

    /// The settlements that were already written because the answer to an earlier commit was lost.
    /// No other writer records the same outcome of the same attempt at the same millisecond.
    pub async fn settled_before(
        &self,
        tx: &DatabaseTransaction,
        settlements: &[&Settlement],
    ) -> Result<HashSet<RunLease>, StoreError> {
        #[derive(PartialEq, Eq, Hash, FromQueryResult)]
        struct SettledAttempt {
            run_id: Uuid,
            attempt: i32,
        }
        if settlements.is_empty() {
            return Ok(HashSet::new());
        }
        let statement = BulkValues::default()
            .uuid("run_id", settlements.iter().map(|s| s.hold.run_id))
            .text("task", settlements.iter().map(|s| s.task.clone()))
            .int("attempt", settlements.iter().map(|s| i64::from(s.hold.attempt)))
            .uuid("node_id", settlements.iter().map(|s| s.hold.node_id))
            .text("state", settlements.iter().map(|s| s.task_state.to_value()))
            .int("at", settlements.iter().map(|s| s.at.0))
            .days(DayRange::of_keys("t.run_id", settlements.iter().map(|s| s.hold.run_id)))
            .statement(
                self.dialect(),
                "SELECT t.run_id, t.attempt FROM v JOIN task_run t ON t.run_id = v.run_id \
                   AND t.task = v.task AND t.attempt = v.attempt \
                 WHERE t.node_id = v.node_id AND t.state = v.state AND t.finished_at = v.at {days}",
                vec![],
            );
        let rows = SettledAttempt::find_by_statement(statement).all(tx).await?;
        let rows: HashSet<SettledAttempt> = rows.into_iter().collect();
        let row = |hold: &RunLease| SettledAttempt { run_id: hold.run_id, attempt: hold.attempt };
        let holds = settlements.iter().map(|settlement| settlement.hold);
        Ok(holds.filter(|hold| rows.contains(&row(hold))).collect())
    }

    /// The holds whose runs the previous statement has changed, as their stamp shows.
    async fn just_written(
        &self,
        tx: &DatabaseTransaction,
        holds: impl Iterator<Item = RunLease> + Clone,
    ) -> Result<HashSet<RunLease>, StoreError> {
        let sql = format!(
            "SELECT {RETURNED} FROM v JOIN run ON {HELD} {{days}} WHERE run.changed = {}",
            self.dialect().last_stamp("run")
        );
        written_holds(tx, of_holds(holds).statement(self.dialect(), &sql, vec![])).await
    }

    async fn end_attempts(
        &self,
        tx: &DatabaseTransaction,
        ended: &[&Settlement],
    ) -> Result<(), StoreError> {
        if ended.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE task_run SET state = v.state, finished_at = v.finished_at, \
               error = v.error, output = v.output \
             FROM v WHERE task_run.run_id = v.run_id AND task_run.task = v.task \
               AND task_run.attempt = v.attempt AND {} {{days}}",
            self.dialect().of_found("task_run.state = 'running'")
        );
        let statement = BulkValues::default()
            .uuid("run_id", ended.iter().map(|s| s.hold.run_id))
            .text("task", ended.iter().map(|s| s.task.clone()))
            .int("attempt", ended.iter().map(|s| i64::from(s.hold.attempt)))
            .text("state", ended.iter().map(|s| s.task_state.to_value()))
            .int("finished_at", ended.iter().map(|s| s.at.0))
            .text("error", ended.iter().map(|s| s.error.clone()))
            .json("output", ended.iter().map(|s| s.output.clone()))
            .days(DayRange::of_keys("task_run.run_id", ended.iter().map(|s| s.hold.run_id)))
            .statement(self.dialect(), &sql, vec![]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// The holds of `node` that the tables contain.
    pub async fn held_by(&self, node: Uuid) -> Result<Vec<RunLease>, StoreError> {
        self.held_if(node, "").await
    }

    /// The holds of `node` if that life is alive: other nodes take over the holds of a dead life.
    pub async fn held_alive(&self, node: Uuid) -> Result<Vec<RunLease>, StoreError> {
        let goes_on = "AND EXISTS (SELECT 1 FROM node WHERE node.id = $1 AND node.state = 'alive')";
        self.held_if(node, goes_on).await
    }

    async fn held_if(&self, node: Uuid, condition: &str) -> Result<Vec<RunLease>, StoreError> {
        let sql = format!(
            "SELECT id AS run_id, attempt, node_id, epoch FROM run \
             WHERE state IN ('queued', 'running', 'retrying') \
               AND state = 'running' AND node_id = $1 {condition}"
        );
        let statement = self.dialect().statement(sql, [node.into()]);
        Ok(RunLease::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Ends holds that the tables contain and the node does not know. Their runs become orphans,
    /// like those of a dead node. Returns how many of the holds still existed.
    pub async fn disown_if_held(
        &self,
        tx: &DatabaseTransaction,
        holds: &[RunLease],
    ) -> Result<u64, StoreError> {
        if holds.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "UPDATE run SET node_id = {{0}}, changed = {} FROM v \
             WHERE {HELD} AND run.state = 'running' {{days}}",
            self.dialect().stamp("run")
        );
        let statement = of_holds(holds.iter().copied()).statement(
            self.dialect(),
            &sql,
            vec![Uuid::nil().into()],
        );
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }

    /// The runs on `node` that are in progress and have a cancel request.
    pub async fn cancel_requests(&self, node: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let statement = self.dialect().statement(
            "SELECT id FROM run WHERE state IN ('queued', 'running', 'retrying') \
               AND state = 'running' AND node_id = $1 AND cancel_requested_at IS NOT NULL",
            [node.into()],
        );
        let rows = KeyRow::find_by_statement(statement).all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}
