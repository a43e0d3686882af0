//! The hand-off: turns an intent in the ledger into a run. This is phase 2 of a fire.

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
        bulk::{Bulk, returned_ids},
        by_place::by_place,
        days::Days,
    },
};

/// An intent to hand over.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Intent {
    /// The id of the fire, and of the run that it becomes.
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The schedule.
    pub schedule_id: Uuid,
    /// The claimed version.
    pub schedule_version: i32,
    /// The instant.
    pub scheduled_at: Timestamp,
    /// When it was due.
    pub due_at: Timestamp,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// How often recovery has tried to hand it over.
    pub recovery_attempts: i32,
    /// The fire's position in the buffer, while it waits there.
    pub queue_position: Option<i64>,
    /// Whether it waits, or has waited, for a blocking run.
    pub waited: bool,
    /// For a catch-up, the reason why it is made up for; also set on a fire that follows one.
    pub made_up_for: Option<MadeUpFor>,
    /// The cause of its delay, as its claim found it; for a waiting fire, the run that blocks it.
    pub detail: Option<String>,
}

/// The columns of [`Intent`].
pub(in crate::store) const INTENT_COLUMNS: &str = "fire.id, fire.namespace_id, fire.schedule_id, \
    fire.schedule_version, fire.scheduled_at, fire.due_at, fire.claimed_at, \
    fire.recovery_attempts, fire.queue_position, (fire.reason = 'buffered') AS waited, \
    fire.made_up_for, fire.detail";

/// The current state of a schedule, as far as the hand-off needs it.
#[derive(Clone, Debug)]
pub struct CurrentSchedule {
    /// The schedule.
    pub id: Uuid,
    /// The schedule's name, for the targets.
    pub name: String,
    /// The schedule's version.
    pub version: i32,
    /// See `entity::schedule`.
    pub fires_version: i32,
    /// Whether the schedule may fire.
    pub enabled: bool,
    /// Set if the schedule was deleted.
    pub deleted_at: Option<Timestamp>,
    /// See `entity::schedule`.
    pub start_deadline_ms: Option<i64>,
    /// See `entity::schedule`.
    pub jitter_ms: i64,
    /// The workflow.
    pub workflow_id: Uuid,
    /// The workflow's version.
    pub workflow_version: i32,
    /// The namespace's name, for the targets.
    pub namespace: String,
    /// The context of the run, if this node starts it at once.
    pub context: serde_json::Value,
    /// See `entity::schedule`.
    pub group_id: Option<Uuid>,
    /// See `entity::schedule`.
    pub priority: i16,
    /// Whether the requesting node may start runs.
    pub node_is_alive: bool,
}

by_place! {
    /// The columns of [`CurrentSchedule`].
    const CURRENT_COLUMNS of CurrentSchedule =
        id, name, version, fires_version, enabled, deleted_at, start_deadline_ms,
        jitter_ms, workflow_id, workflow_version, namespace, context,
        group_id, priority, node_is_alive,
}

/// A run that a fire starts.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The fire's key.
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The schedule.
    pub schedule_id: Uuid,
    /// The workflow.
    pub workflow_id: Uuid,
    /// The workflow's version.
    pub workflow_version: i32,
    /// The instant.
    pub scheduled_at: Timestamp,
    /// When it was due.
    pub due_at: Timestamp,
    /// The maximum number of attempts.
    pub max_attempts: i32,
    /// The tags that its node must have.
    pub runs_on: Option<Strings>,
    /// See `entity::run`.
    pub origin: Option<Arc<str>>,
    /// The run's context, if it differs from the schedule's, which is copied inside the database.
    pub context: Option<serde_json::Value>,
    /// Whether recovery starts it.
    pub is_recovery: bool,
    /// The key by which the receiver recognises duplicates.
    pub idempotency_key: String,
    /// Why its fire starts.
    pub reason: Reason,
    /// Details of the reason.
    pub detail: Option<String>,
    /// The group whose limit applies to it. A run with a group never starts with the hand-off,
    /// because the dispatcher enforces the limit.
    pub group_id: Option<Uuid>,
    /// The run's priority while it waits.
    pub priority: i16,
    /// Set when this node starts it in the same transaction.
    pub start: Option<Start>,
}

/// A run that starts with the hand-off.
#[derive(Clone, Debug)]
pub struct Start {
    /// The task whose first attempt starts with it; `None` for a flow, which starts its tasks
    /// itself.
    pub task: Option<String>,
    /// How long until any node may declare it timed out.
    pub hard_limit: Duration,
}

/// A fire that will not run after all.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The fire.
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

/// The condition for an intent that is still undecided.
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
        let ids = Bulk::default().uuid("id", ids.iter().copied());
        let statement = ids.statement(self.dialect(), &sql, vec![node.into()]);
        let rows = CurrentSchedule::find_by_statement(statement).all(tx).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }

    /// Links the intents to their runs, unless they already have one; returns the intents that were
    /// linked.
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
            Bulk::default()
                .uuid("id", runs.iter().map(|run| run.id))
                .int("scheduled_at", runs.iter().map(|run| run.scheduled_at.0))
                .days(Days::of_instants("fire.scheduled_at", runs.iter().map(|r| r.scheduled_at)))
        };
        let statement = fires()
            .text("reason", runs.iter().map(|run| run.reason.to_value()))
            .text("detail", runs.iter().map(|run| run.detail.clone()))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        if tx.execute_raw(statement).await?.rows_affected() == runs.len() as u64 {
            return Ok(runs.iter().map(|run| run.id).collect());
        }
        // An intent that was linked before already has its run, because both are written in one
        // transaction.
        let sql = "SELECT fire.id FROM v JOIN fire ON fire.id = v.id \
               AND fire.scheduled_at = v.scheduled_at {days} \
             WHERE fire.run_id = v.id AND NOT EXISTS (SELECT 1 FROM run WHERE run.id = v.id)";
        returned_ids(tx, fires().statement(self.dialect(), sql, vec![])).await
    }

    /// Writes the verdicts of intents that will not run, unless they already have one.
    pub async fn decide_fires_if_pending(
        &self,
        tx: &DatabaseTransaction,
        fires: &[Decided],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if fires.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET verdict = v.verdict, reason = v.reason, detail = v.detail, \
               decided_at = {{0}}, queue_position = NULL \
             FROM v WHERE fire.id = v.id AND fire.scheduled_at = v.scheduled_at \
               AND {} {{days}}",
            self.dialect().of_found(PENDING)
        );
        let statement = Bulk::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .int("scheduled_at", fires.iter().map(|fire| fire.scheduled_at.0))
            .text("verdict", fires.iter().map(|fire| fire.verdict.to_value()))
            .text("reason", fires.iter().map(|fire| fire.reason.to_value()))
            .text("detail", fires.iter().map(|fire| fire.detail.clone()))
            .days(Days::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Writes the runs of fires that this transaction has just linked: those with a `start` as
    /// running on `node`, with their first attempt; the others as queued.
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
        let statement = Bulk::default()
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
        let statement = Bulk::default()
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
