//! The hand-off, phase 2 of a fire: turns an intent in the ledger into a run.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use entity::{
    Strings, Timestamp,
    fire::{MadeUpFor, Reason, Verdict},
};
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult};
use serde_json::json;
use uuid::Uuid;

use super::runs::millis;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, returned_ids},
        by_place::by_place,
        days::DayRange,
    },
};

/// An intent that is to be handed over.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Intent {
    /// The key of the fire, and of the run that it becomes.
    pub id: Uuid,
    /// The namespace of the schedule.
    pub namespace_id: Uuid,
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The version of the schedule from which the fire was claimed.
    pub schedule_version: i32,
    /// The instant of the fire.
    pub scheduled_at: Timestamp,
    /// When the fire was due.
    pub due_at: Timestamp,
    /// When the fire was claimed.
    pub claimed_at: Timestamp,
    /// How many times recovery has tried to hand the fire over.
    pub recovery_attempts: i32,
    /// The fire's position in the buffer, while it waits there.
    pub queue_position: Option<i64>,
    /// Whether the fire waits, or has waited, for a blocking run.
    pub waited: bool,
    /// Why a late fire was missed; also set on a fire that waits for such fires.
    pub made_up_for: Option<MadeUpFor>,
    /// The cause of the delay, as the claim found it; for a waiting fire, the run that blocks it.
    pub detail: Option<String>,
}

/// The columns of [`Intent`], for a SELECT.
pub(in crate::store) const INTENT_COLUMNS: &str = "fire.id, fire.namespace_id, fire.schedule_id, \
    fire.schedule_version, fire.scheduled_at, fire.due_at, fire.claimed_at, \
    fire.recovery_attempts, fire.queue_position, (fire.reason = 'buffered') AS waited, \
    fire.made_up_for, fire.detail";

/// The part of a schedule's current state that the hand-off needs.
#[derive(Clone, Debug)]
pub struct CurrentSchedule {
    /// The key of the schedule.
    pub id: Uuid,
    /// The name of the schedule, which targets receive.
    pub name: String,
    /// The version of the schedule.
    pub version: i32,
    /// The last version that changed the fires; see `entity::schedule`.
    pub fires_version: i32,
    /// Whether the schedule may fire.
    pub enabled: bool,
    /// When the schedule was deleted.
    pub deleted_at: Option<Timestamp>,
    /// The start deadline; see `entity::schedule`.
    pub start_deadline_ms: Option<i64>,
    /// The maximum jitter; see `entity::schedule`.
    pub jitter_ms: i64,
    /// The workflow that the schedule runs.
    pub workflow_id: Uuid,
    /// The current version of the workflow.
    pub workflow_version: i32,
    /// The name of the namespace, which targets receive.
    pub namespace: String,
    /// The context of the run, in case this node starts it immediately.
    pub context: serde_json::Value,
    /// The concurrency group; see `entity::schedule`.
    pub group_id: Option<Uuid>,
    /// The priority of runs; see `entity::schedule`.
    pub priority: i16,
    /// Whether the node that asks may start runs.
    pub node_is_alive: bool,
}

by_place! {
    /// The columns of [`CurrentSchedule`].
    const CURRENT_COLUMNS of CurrentSchedule =
        id, name, version, fires_version, enabled, deleted_at, start_deadline_ms,
        jitter_ms, workflow_id, workflow_version, namespace, context,
        group_id, priority, node_is_alive,
}

/// A run that is to be written for a fire.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The key of the fire and of the run.
    pub id: Uuid,
    /// The namespace of the schedule.
    pub namespace_id: Uuid,
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The workflow that the run executes.
    pub workflow_id: Uuid,
    /// The version of the workflow.
    pub workflow_version: i32,
    /// The instant of the fire.
    pub scheduled_at: Timestamp,
    /// When the fire was due.
    pub due_at: Timestamp,
    /// Maximum number of attempts.
    pub max_attempts: i32,
    /// The tags that a node must have to take the run.
    pub runs_on: Option<Strings>,
    /// The target of the first task; see `entity::run`.
    pub origin: Option<Arc<str>>,
    /// The run's context, if it differs from the schedule's, which is copied inside the database.
    pub context: Option<serde_json::Value>,
    /// Whether recovery starts the run.
    pub is_recovery: bool,
    /// The key by which targets recognise duplicates.
    pub idempotency_key: String,
    /// Why the fire starts.
    pub reason: Reason,
    /// Details of the reason.
    pub detail: Option<String>,
    /// The group whose limit applies to the run. A run with a group never starts with the hand-off,
    /// because the dispatcher enforces the limit.
    pub group_id: Option<Uuid>,
    /// The run's priority while it waits.
    pub priority: i16,
    /// Set if this node starts the run in the same transaction.
    pub start: Option<StartedRun>,
}

/// The start of a run in the transaction of its hand-off.
#[derive(Clone, Debug)]
pub struct StartedRun {
    /// The task whose first attempt starts with the run;
    /// `None` for a flow, which starts its tasks itself.
    pub task: Option<String>,
    /// How long until any node may declare the attempt timed out.
    pub hard_limit: Duration,
}

/// A fire that will not run after all, and why.
#[derive(Clone, Debug)]
pub struct DecidedFire {
    /// The key of the fire.
    pub id: Uuid,
    /// The fire's instant.
    pub scheduled_at: Timestamp,
    /// The fire's verdict.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: Reason,
    /// Details of the reason.
    pub detail: Option<String>,
}

/// The condition for an intent that is still undecided and has no run.
const PENDING: &str = "fire.verdict = 'pending' AND fire.run_id IS NULL";

impl Store {
    /// The current state of the schedules in `ids`, for `node`.
    pub async fn current_schedules(
        &self,
        tx: &DatabaseTransaction,
        ids: &HashSet<Uuid>,
        node: Uuid,
    ) -> Result<HashMap<Uuid, CurrentSchedule>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT {CURRENT_COLUMNS} FROM ( \
               SELECT s.id, s.name, s.version, s.fires_version, s.enabled, s.deleted_at, \
                 s.start_deadline_ms, s.jitter_ms, s.workflow_id, s.context, \
                 s.group_id, s.priority, w.version AS workflow_version, n.name AS namespace, \
                 EXISTS (SELECT 1 FROM node WHERE node.id = {{0}} AND node.state = 'alive') \
                   AS node_is_alive \
               FROM v JOIN schedule s ON s.id = v.id JOIN workflow w ON w.id = s.workflow_id \
               JOIN namespace n ON n.id = s.namespace_id) current_schedule"
        );
        let ids = BulkValues::default().uuid("id", ids.iter().copied());
        let statement = ids.statement(self.dialect(), &sql, vec![node.into()]);
        let rows = CurrentSchedule::find_by_statement(statement).all(tx).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }

    /// Links the intents to their runs, unless they already have one.
    /// Returns the intents that were linked.
    pub async fn start_fires_if_pending(
        &self,
        tx: &DatabaseTransaction,
        runs: &[NewRun],
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        if runs.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "UPDATE fire SET run_id = v.id, verdict = 'started', reason = v.reason, \
               detail = v.detail, decided_at = {{0}} \
             FROM v WHERE fire.id = v.id AND fire.scheduled_at = v.scheduled_at \
               AND {} {{days}}",
            self.dialect().of_found(PENDING)
        );
        let fires = || {
            BulkValues::default()
                .uuid("id", runs.iter().map(|run| run.id))
                .int("scheduled_at", runs.iter().map(|run| run.scheduled_at.0))
                .days(DayRange::of_instants(
                    "fire.scheduled_at",
                    runs.iter().map(|r| r.scheduled_at),
                ))
        };
        let statement = fires()
            .text("reason", runs.iter().map(|run| run.reason.to_value()))
            .text("detail", runs.iter().map(|run| run.detail.clone()))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        if tx.execute_raw(statement).await?.rows_affected() == runs.len() as u64 {
            return Ok(runs.iter().map(|run| run.id).collect());
        }
        // An intent that was linked earlier already has
        // its run, because one transaction writes both.
        let sql = "SELECT fire.id FROM v JOIN fire ON fire.id = v.id \
               AND fire.scheduled_at = v.scheduled_at {days} \
             WHERE fire.run_id = v.id AND NOT EXISTS (SELECT 1 FROM run WHERE run.id = v.id)";
        returned_ids(tx, fires().statement(self.dialect(), sql, vec![])).await
    }

    /// Writes the verdicts of intents that will not run, unless these already have one.
    pub async fn decide_fires_if_pending(
        &self,
        tx: &DatabaseTransaction,
        fires: &[DecidedFire],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if fires.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET verdict = v.verdict, reason = v.reason, detail = v.detail, \
               decided_at = {{0}}, queue_position = NULL, changed = {} \
             FROM v WHERE fire.id = v.id AND fire.scheduled_at = v.scheduled_at \
               AND {} {{days}}",
            self.dialect().stamp("fire"),
            self.dialect().of_found(PENDING)
        );
        let statement = BulkValues::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .int("scheduled_at", fires.iter().map(|fire| fire.scheduled_at.0))
            .text("verdict", fires.iter().map(|fire| fire.verdict.to_value()))
            .text("reason", fires.iter().map(|fire| fire.reason.to_value()))
            .text("detail", fires.iter().map(|fire| fire.detail.clone()))
            .days(DayRange::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Writes the runs of fires that this transaction has just linked. Those with a `start` are
    /// written as running on `node`, with their first attempt; the others are queued.
    pub async fn insert_fired_runs(
        &self,
        tx: &DatabaseTransaction,
        runs: &[NewRun],
        node: Uuid,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "INSERT INTO run (id, namespace_id, schedule_id, fire_id, workflow_id, \
               workflow_version, trigger, state, scheduled_at, due_at, created_at, available_at, \
               started_at, attempt, max_attempts, recovery_attempts, node_id, epoch, \
               hard_deadline_at, context, is_recovery, idempotency_key, group_id, priority, \
               runs_on, origin, changed) \
             SELECT id, namespace_id, schedule_id, id, workflow_id, workflow_version, \
               'schedule', CASE WHEN started = 1 THEN 'running' ELSE 'queued' END, scheduled_at, \
               due_at, {{0}}, {{0}}, CASE WHEN started = 1 THEN {{0}} END, started, max_attempts, \
               0, CASE WHEN started = 1 THEN {{1}} END, started, {} + hard_limit, \
               coalesce(context, (SELECT s.context FROM schedule s WHERE s.id = v.schedule_id)), \
               is_recovery = 1, idempotency_key, group_id, priority, runs_on, origin, {} \
             FROM v WHERE true",
            self.dialect().now(),
            self.dialect().stamp("run")
        );
        let limit = |run: &NewRun| run.start.as_ref().map(|start| millis(start.hard_limit));
        let statement = BulkValues::default()
            .uuid("id", runs.iter().map(|run| run.id))
            .uuid("namespace_id", runs.iter().map(|run| run.namespace_id))
            .uuid("schedule_id", runs.iter().map(|run| run.schedule_id))
            .uuid("workflow_id", runs.iter().map(|run| run.workflow_id))
            .int("workflow_version", runs.iter().map(|run| i64::from(run.workflow_version)))
            .int("scheduled_at", runs.iter().map(|run| run.scheduled_at.0))
            .int("due_at", runs.iter().map(|run| run.due_at.0))
            .int("started", runs.iter().map(|run| i64::from(run.start.is_some())))
            .int("max_attempts", runs.iter().map(|run| i64::from(run.max_attempts)))
            .int("hard_limit", runs.iter().map(limit))
            .json("context", runs.iter().map(|run| run.context.clone()))
            .int("is_recovery", runs.iter().map(|run| i64::from(run.is_recovery)))
            .text("idempotency_key", runs.iter().map(|run| run.idempotency_key.clone()))
            .uuid("group_id", runs.iter().map(|run| run.group_id))
            .int("priority", runs.iter().map(|run| i64::from(run.priority)))
            .json("runs_on", runs.iter().map(|run| run.runs_on.as_ref().map(|tags| json!(tags))))
            .text("origin", runs.iter().map(|run| run.origin.as_deref().map(str::to_owned)))
            .statement(self.dialect(), &sql, vec![now.0.into(), node.into()]);
        tx.execute_raw(statement).await?;

        let started: Vec<(Uuid, &String)> = runs
            .iter()
            .filter_map(|run| Some((run.id, run.start.as_ref()?.task.as_ref()?)))
            .collect();
        if started.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .uuid("run_id", started.iter().map(|(id, _)| *id))
            .text("task", started.iter().map(|(_, task)| (*task).clone()))
            .statement(
                self.dialect(),
                "INSERT INTO task_run (run_id, task, attempt, state, node_id, started_at) \
                 SELECT run_id, task, 1, 'running', {0}, {1} FROM v WHERE true",
                vec![node.into(), now.0.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }
}
