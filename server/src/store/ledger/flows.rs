//! Runs of several tasks: reads the history of a run, and writes its next step. Every step names
//! its hold (run, attempt, node, epoch). If it changes no row, the node has lost the run.

use std::{collections::HashSet, time::Duration};

use entity::{Timestamp, run, task_run};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter,
    QueryOrder, QuerySelect,
};
use uuid::Uuid;

use super::{
    holds::{HELD, RETURNED, RunLease, STOPPED, of_holds, written_holds},
    runs::millis,
};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, days::DayRange, rows::InstantRow},
};

/// The changes to a run that are written together.
#[derive(Clone, Debug)]
pub struct FlowStep {
    /// The hold under which the step is made.
    pub hold: RunLease,
    /// The change to the run itself.
    pub turn: RunChange,
    /// Attempts that have ended.
    pub ended: Vec<EndedTask>,
    /// Attempts that begin: the name of the task and the number of the attempt.
    pub begun: Vec<(String, i32)>,
    /// Tasks that will never run, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// When the step is made.
    pub at: Timestamp,
}

/// The change to a run in a step.
#[derive(Clone, Debug)]
pub enum RunChange {
    /// The run remains with the node.
    Held {
        /// How long until any node may treat the run as stuck.
        hard_limit: Duration,
    },
    /// The run is parked, so that any node may take it later.
    Parked {
        /// The time before which no node may take the run.
        until: Timestamp,
        /// The error of the last attempt.
        error: Option<String>,
    },
    /// The run has ended.
    Settled {
        /// The run's final state.
        state: run::State,
        /// The error of a run that did not succeed.
        error: Option<String>,
    },
}

/// An attempt at a task that has ended.
#[derive(Clone, Debug)]
pub struct EndedTask {
    /// The name of the task.
    pub task: String,
    /// The attempt's number.
    pub attempt: i32,
    /// The final state of the attempt.
    pub state: task_run::State,
    /// The error of an attempt that did not succeed.
    pub error: Option<String>,
    /// The output of the target.
    pub output: Option<serde_json::Value>,
    /// When the attempt ended.
    pub at: Timestamp,
}

impl FlowStep {
    /// When the run has ended, if the step ends it.
    fn finished_at(&self) -> Option<i64> {
        (!self.turn.state().is_live()).then_some(self.at.0)
    }
}

impl RunChange {
    fn state(&self) -> run::State {
        match self {
            Self::Held { .. } => run::State::Running,
            Self::Parked { .. } => run::State::Retrying,
            Self::Settled { state, .. } => *state,
        }
    }

    fn error(&self) -> Option<String> {
        match self {
            Self::Held { .. } => None,
            Self::Parked { error, .. } | Self::Settled { error, .. } => error.clone(),
        }
    }

    fn hard_limit(&self) -> Option<i64> {
        match self {
            Self::Held { hard_limit } => Some(millis(*hard_limit)),
            Self::Parked { .. } | Self::Settled { .. } => None,
        }
    }

    fn until(&self) -> Option<i64> {
        match self {
            Self::Parked { until, .. } => Some(until.0),
            Self::Held { .. } | Self::Settled { .. } => None,
        }
    }
}

impl Store {
    /// All attempts of a run, in order for each task.
    pub async fn attempts_of(&self, run: Uuid) -> Result<Vec<task_run::Model>, StoreError> {
        self.attempts_in(self.read(), run).await
    }

    /// All attempts of a run, in order for each task, read in a transaction.
    pub async fn attempts_in(
        &self,
        connection: &impl ConnectionTrait,
        run: Uuid,
    ) -> Result<Vec<task_run::Model>, StoreError> {
        let query = task_run::Entity::find()
            .filter(task_run::Column::RunId.eq(run))
            .order_by_asc(task_run::Column::Task)
            .order_by_asc(task_run::Column::Attempt);
        Ok(query.all(connection).await?)
    }

    /// The tasks of a run that are being executed, with the number of the
    /// attempt, but without the results of other tasks.
    pub async fn tasks_at_work(&self, run: Uuid) -> Result<Vec<(String, i32)>, StoreError> {
        let query = task_run::Entity::find()
            .select_only()
            .column(task_run::Column::Task)
            .column(task_run::Column::Attempt)
            .filter(task_run::Column::RunId.eq(run))
            .filter(task_run::Column::State.eq(task_run::State::Running))
            .into_tuple::<(String, i32)>();
        Ok(query.all(self.read()).await?)
    }

    /// Writes the steps whose hold has not changed, and returns their holds.
    /// Another node decides about the other runs, so their steps are not written.
    /// A batch may contain steps of two holds on the same run.
    pub async fn step_if_held(
        &self,
        tx: &DatabaseTransaction,
        steps: &[FlowStep],
    ) -> Result<HashSet<RunLease>, StoreError> {
        if steps.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "UPDATE run SET error = v.error, \
               state = CASE WHEN {STOPPED} THEN 'cancelled' ELSE v.state END, \
               available_at = coalesce(v.until, run.available_at), \
               finished_at = CASE WHEN {STOPPED} THEN v.at ELSE v.finished_at END, \
               max_attempts = CASE WHEN v.state = 'retrying' THEN run.max_attempts + 1 \
                 ELSE run.max_attempts END, \
               hard_deadline_at = {} + v.hard_limit, changed = {} \
             FROM v WHERE {HELD} AND {} {{days}} RETURNING {RETURNED}",
            self.dialect().now(),
            self.dialect().stamp("run"),
            self.dialect().of_found("run.state = 'running'")
        );
        let statement = of_holds(steps.iter().map(|step| step.hold))
            .text("state", steps.iter().map(|step| step.turn.state().to_value()))
            .text("error", steps.iter().map(|step| step.turn.error()))
            .int("until", steps.iter().map(|step| step.turn.until()))
            .int("at", steps.iter().map(|step| step.at.0))
            .int("finished_at", steps.iter().map(FlowStep::finished_at))
            .int("hard_limit", steps.iter().map(|step| step.turn.hard_limit()))
            .statement(self.dialect(), &sql, vec![]);
        let held = written_holds(tx, statement).await?;
        let written: Vec<&FlowStep> =
            steps.iter().filter(|step| held.contains(&step.hold)).collect();
        self.end_tasks(tx, &written).await?;
        self.begin_tasks(tx, &written).await?;
        Ok(held)
    }

    /// The holds of steps that were already written because the answer to an earlier commit was
    /// lost, and that have ended or parked their run. No other writer does the same to a run at the
    /// same millisecond.
    pub async fn stepped_before(
        &self,
        tx: &DatabaseTransaction,
        steps: &[&FlowStep],
    ) -> Result<HashSet<RunLease>, StoreError> {
        if steps.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "SELECT {RETURNED} FROM v JOIN run ON {HELD} {{days}} \
             WHERE (run.state = v.state AND run.finished_at = v.finished_at) \
               OR (run.state = v.state AND run.available_at = v.until) \
               OR (run.state = 'cancelled' AND run.finished_at = v.at AND {STOPPED})"
        );
        let statement = of_holds(steps.iter().map(|step| step.hold))
            .text("state", steps.iter().map(|step| step.turn.state().to_value()))
            .int("until", steps.iter().map(|step| step.turn.until()))
            .int("at", steps.iter().map(|step| step.at.0))
            .int("finished_at", steps.iter().map(|step| step.finished_at()))
            .statement(self.dialect(), &sql, vec![]);
        written_holds(tx, statement).await
    }

    async fn end_tasks(
        &self,
        tx: &DatabaseTransaction,
        steps: &[&FlowStep],
    ) -> Result<(), StoreError> {
        let ended =
            || steps.iter().flat_map(|step| step.ended.iter().map(move |ended| (*step, ended)));
        if ended().next().is_none() {
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
            .uuid("run_id", ended().map(|(step, _)| step.hold.run_id))
            .text("task", ended().map(|(_, ended)| ended.task.clone()))
            .int("attempt", ended().map(|(_, ended)| i64::from(ended.attempt)))
            .text("state", ended().map(|(_, ended)| ended.state.to_value()))
            .int("finished_at", ended().map(|(_, ended)| ended.at.0))
            .text("error", ended().map(|(_, ended)| ended.error.clone()))
            .json("output", ended().map(|(_, ended)| ended.output.clone()))
            .days(DayRange::of_keys("task_run.run_id", ended().map(|(step, _)| step.hold.run_id)))
            .statement(self.dialect(), &sql, vec![]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Writes attempts that begin. Rows that already exist were written under this hold: the answer
    /// to a commit was lost, so the step is repeated.
    async fn begin_tasks(
        &self,
        tx: &DatabaseTransaction,
        steps: &[&FlowStep],
    ) -> Result<(), StoreError> {
        struct TaskRow<'a> {
            step: &'a FlowStep,
            task: &'a str,
            attempt: i32,
            skipped: Option<&'a str>,
        }
        let mut rows = Vec::new();
        for &step in steps {
            let begun = step.begun.iter().map(|(task, attempt)| (&**task, *attempt, None));
            let skipped = step.skipped.iter().map(|(task, why)| (&**task, 1, Some(&**why)));
            let row = |(task, attempt, skipped)| TaskRow { step, task, attempt, skipped };
            rows.extend(begun.chain(skipped).map(row));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let state = |row: &TaskRow<'_>| match row.skipped {
            Some(_) => task_run::State::Skipped.to_value(),
            None => task_run::State::Running.to_value(),
        };
        let ended = |row: &TaskRow<'_>| row.skipped.map(|_| row.step.at.0);
        let statement = BulkValues::default()
            .uuid("run_id", rows.iter().map(|row| row.step.hold.run_id))
            .text("task", rows.iter().map(|row| row.task.to_owned()))
            .int("attempt", rows.iter().map(|row| i64::from(row.attempt)))
            .text("state", rows.iter().map(state))
            .uuid("node_id", rows.iter().map(|row| row.step.hold.node_id))
            .int("started_at", rows.iter().map(|row| row.step.at.0))
            .int("finished_at", rows.iter().map(ended))
            .text("error", rows.iter().map(|row| row.skipped.map(str::to_owned)))
            .statement(
                self.dialect(),
                "INSERT INTO task_run \
                   (run_id, task, attempt, state, node_id, started_at, finished_at, error) \
                 SELECT run_id, task, attempt, state, node_id, started_at, finished_at, error \
                 FROM v WHERE true ON CONFLICT (run_id, task, attempt) DO NOTHING",
                vec![],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Ends all running attempts of these runs, whose holds this transaction has ended.
    pub async fn end_running_attempts(
        &self,
        tx: &DatabaseTransaction,
        runs: &[(Uuid, task_run::State, Option<String>)],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .uuid("run_id", runs.iter().map(|(run, _, _)| *run))
            .text("state", runs.iter().map(|(_, state, _)| state.to_value()))
            .text("error", runs.iter().map(|(_, _, error)| error.clone()))
            .days(DayRange::of_keys("task_run.run_id", runs.iter().map(|(run, _, _)| *run)))
            .statement(
                self.dialect(),
                "UPDATE task_run SET state = v.state, finished_at = {0}, error = v.error \
                 FROM v WHERE task_run.run_id = v.run_id AND task_run.state = 'running' {days}",
                vec![at.0.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Copies the last successful attempts of another run's tasks to `run`.
    pub async fn keep_successes(
        &self,
        tx: &DatabaseTransaction,
        run: Uuid,
        of: Uuid,
        tasks: &[&str],
    ) -> Result<(), StoreError> {
        if tasks.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .text("task", tasks.iter().map(|task| (*task).to_owned()))
            .statement(
                self.dialect(),
                "INSERT INTO task_run (run_id, task, attempt, state, node_id, started_at, \
                   finished_at, output) \
                 SELECT {0}, t.task, 1, t.state, t.node_id, t.started_at, t.finished_at, t.output \
                 FROM v JOIN task_run t ON t.task = v.task \
                 WHERE t.run_id = {1} AND t.state = 'succeeded'",
                vec![run.into(), of.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// The instant of the schedule's last fire before `at`, whatever its outcome.
    pub async fn fire_before(
        &self,
        schedule: Uuid,
        at: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let statement = self.dialect().statement(
            "SELECT last_scheduled_at AS at FROM fire \
             WHERE schedule_id = $1 AND scheduled_at < $2 ORDER BY scheduled_at DESC LIMIT 1",
            [schedule.into(), at.0.into()],
        );
        let row = InstantRow::find_by_statement(statement).one(self.read()).await?;
        Ok(row.map(|row| row.at))
    }
}
