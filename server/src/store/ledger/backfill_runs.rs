//! The hand-off of a backfill: one transaction locks the schedule and the backfill, and writes the
//! ledger rows, the runs and the backfill's own rows.

use std::collections::HashSet;

use entity::{Strings, Timestamp, fire};
use sea_orm::{ActiveEnum, ConnectionTrait};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, returned_ids},
        days::DayRange,
    },
};

/// A run to queue for an instant.
#[derive(Clone, Debug)]
pub struct BackfillRun {
    /// The key of the run.
    pub id: Uuid,
    /// The instant's position in the backfill.
    pub position: i32,
    /// The instant for which the run is started.
    pub scheduled_at: Timestamp,
    /// The effect of a clock change at the instant.
    pub kind: fire::Kind,
    /// The instant's own ledger row, if it has one.
    pub fire_id: Option<Uuid>,
    /// The key by which targets recognise duplicates.
    pub idempotency_key: String,
}

/// The values that the runs of one turn share.
#[derive(Clone, Debug)]
pub struct BackfillRuns {
    /// The key of the backfill.
    pub backfill_id: Uuid,
    /// The namespace of the backfill.
    pub namespace_id: Uuid,
    /// The schedule of the backfill.
    pub schedule_id: Uuid,
    /// The version of the schedule.
    pub schedule_version: i32,
    /// The workflow that the runs execute.
    pub workflow_id: Uuid,
    /// The version of the workflow.
    pub workflow_version: i32,
    /// Maximum number of attempts of a run.
    pub max_attempts: i32,
    /// The context of the runs.
    pub context: serde_json::Value,
    /// The tags that a node must have to take the runs.
    pub runs_on: Option<Strings>,
    /// The target of the first task; see `entity::run`.
    pub origin: Option<String>,
    /// The group whose limit applies to the runs.
    pub group_id: Option<Uuid>,
    /// The priority of the runs; see `entity::run`.
    pub priority: i16,
    /// The node that starts the runs.
    pub node_id: Uuid,
}

impl Store {
    /// Writes the ledger rows of runs that have the key of their fire, unless the instant has got a
    /// row in the meantime. Returns the rows that were written; for the others, the unique key
    /// shows that another writer was first.
    pub async fn insert_backfilled_fires(
        &self,
        tx: &DatabaseTransaction,
        of: &BackfillRuns,
        runs: &[BackfillRun],
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        let own: Vec<_> = runs.iter().filter(|run| run.fire_id == Some(run.id)).collect();
        if own.is_empty() {
            return Ok(HashSet::new());
        }
        let statement = BulkValues::default()
            .uuid("id", own.iter().map(|run| run.id))
            .int("at", own.iter().map(|run| run.scheduled_at.0))
            .text("kind", own.iter().map(|run| run.kind.to_value()))
            .statement(
                self.dialect(),
                "INSERT INTO fire (id, namespace_id, schedule_id, schedule_version, \
                   scheduled_at, due_at, last_scheduled_at, count, kind, verdict, reason, \
                   claimed_by, claimed_at, decided_at, run_id, recovery_attempts) \
                 SELECT id, {0}, {1}, {2}, at, {4}, at, 1, kind, 'started', 'backfilled', {3}, \
                   {4}, {4}, id, 0 FROM v WHERE true \
                 ON CONFLICT (schedule_id, scheduled_at) DO NOTHING RETURNING id",
                vec![
                    of.namespace_id.into(),
                    of.schedule_id.into(),
                    of.schedule_version.into(),
                    of.node_id.into(),
                    now.0.into(),
                ],
            );
        returned_ids(tx, statement).await
    }

    /// Queues runs for waiting fires of a locked backfill, and marks these fires as running.
    pub async fn start_backfill_runs(
        &self,
        tx: &DatabaseTransaction,
        of: &BackfillRuns,
        runs: &[BackfillRun],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .int("position", runs.iter().map(|run| i64::from(run.position)))
            .uuid("run_id", runs.iter().map(|run| run.id))
            .statement(
                self.dialect(),
                "UPDATE backfill_fire SET state = 'running', run_id = v.run_id, \
                   started_at = {1} \
                 FROM v WHERE backfill_fire.backfill_id = {0} \
                   AND backfill_fire.position = v.position AND backfill_fire.state = 'pending'",
                vec![of.backfill_id.into(), now.0.into()],
            );
        tx.execute_raw(statement).await?;
        self.stamp_backfill(tx, of.backfill_id).await?;
        self.link_made_up_fires(tx, runs).await?;
        self.queue_backfill_runs(tx, of, runs, now).await
    }

    /// Writes the runs into the rows of fires that had no run of their own, so that the ledger
    /// shows which run made up for each. The verdict stays, because it was the outcome at the time.
    async fn link_made_up_fires(
        &self,
        tx: &DatabaseTransaction,
        runs: &[BackfillRun],
    ) -> Result<(), StoreError> {
        let others: Vec<(Uuid, &BackfillRun)> = runs
            .iter()
            .filter_map(|run| Some((run.fire_id.filter(|fire| *fire != run.id)?, run)))
            .collect();
        if others.is_empty() {
            return Ok(());
        }
        let instants = others.iter().map(|(_, run)| run.scheduled_at);
        let statement = BulkValues::default()
            .uuid("id", others.iter().map(|(fire, _)| *fire))
            .int("scheduled_at", others.iter().map(|(_, run)| run.scheduled_at.0))
            .uuid("run_id", others.iter().map(|(_, run)| run.id))
            .days(DayRange::of_instants("fire.scheduled_at", instants))
            .statement(
                self.dialect(),
                "UPDATE fire SET run_id = v.run_id FROM v \
                 WHERE fire.id = v.id AND fire.scheduled_at = v.scheduled_at \
                   AND fire.verdict IN ('skipped', 'missed', 'collapsed') {days}",
                vec![],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    async fn queue_backfill_runs(
        &self,
        tx: &DatabaseTransaction,
        of: &BackfillRuns,
        runs: &[BackfillRun],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // All runs share one context, which can be large, so only the first row contains it.
        let context = (0..runs.len()).map(|row| (row == 0).then(|| of.context.clone()));
        let sql = format!(
            "INSERT INTO run (id, namespace_id, schedule_id, fire_id, workflow_id, \
               workflow_version, trigger, state, scheduled_at, due_at, created_at, available_at, \
               attempt, max_attempts, recovery_attempts, epoch, context, is_recovery, \
               idempotency_key, backfill_id, group_id, priority, runs_on, origin, \
               changed) \
             SELECT id, {{0}}, {{1}}, fire_id, {{2}}, {{3}}, 'backfill', 'queued', at, {{4}}, \
               {{4}}, {{4}}, 0, {{5}}, 0, 0, (SELECT context FROM v WHERE context IS NOT NULL), \
               false, idempotency_key, {{6}}, {{7}}, {{8}}, {{9}}, {{10}}, {} \
             FROM v WHERE true",
            self.dialect().stamp("run")
        );
        let statement = BulkValues::default()
            .uuid("id", runs.iter().map(|run| run.id))
            .uuid("fire_id", runs.iter().map(|run| run.fire_id))
            .int("at", runs.iter().map(|run| run.scheduled_at.0))
            .text("idempotency_key", runs.iter().map(|run| run.idempotency_key.clone()))
            .json("context", context)
            .statement(
                self.dialect(),
                &sql,
                vec![
                    of.namespace_id.into(),
                    of.schedule_id.into(),
                    of.workflow_id.into(),
                    of.workflow_version.into(),
                    now.0.into(),
                    of.max_attempts.into(),
                    of.backfill_id.into(),
                    of.group_id.into(),
                    of.priority.into(),
                    of.runs_on.clone().into(),
                    of.origin.clone().into(),
                ],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }
}
