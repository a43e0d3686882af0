//! Runs on their way: waiting, taken by a node, cancelled. What a node does about the attempts that
//! it holds is in `holds`.

use std::time::Duration;

use entity::{Strings, Timestamp, run};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult};
use uuid::Uuid;

use super::{DatabaseTransaction, Store, StoreError, bulk::Bulk, days::Days, groups::room};

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
    /// See `entity::schedule`, like the next; none without a schedule.
    pub start_deadline_ms: Option<i64>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub jitter_ms: Option<i64>,
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
    /// The group whose limit it counts in.
    pub group_id: Option<Uuid>,
    /// The tags that the node must have that takes it.
    pub runs_on: Option<Strings>,
    /// Since when it could start.
    pub available_at: Timestamp,
}

/// What waits after a dispatcher has looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// When the next run may start that no group holds back; overdue ones count.
    pub next: Option<Timestamp>,
    /// Whether a run of some group could start by its time: it waits for one of its group.
    pub grouped: bool,
}

/// A node that looks for runs.
#[derive(Clone, Copy, Debug)]
pub struct Taker<'a> {
    /// Its current life.
    pub node: Uuid,
    /// What runs may ask of it.
    pub tags: &'a [String],
}

/// A run that a node takes: the next attempt begins.
#[derive(Clone, Debug)]
pub struct Take {
    /// The run.
    pub run_id: Uuid,
    /// The task whose attempt begins with it; none of a run that begins its tasks by itself.
    pub task: Option<String>,
    /// The new attempt.
    pub attempt: i32,
    /// The new term.
    pub epoch: i64,
    /// After how long any node may declare it timed out.
    pub hard_limit: Duration,
}

impl Store {
    /// The runs that wait and may start, the highest priority and then the longest waiting first,
    /// locked. Of a group there are no more than it has room for, so those that it holds back are
    /// in nobody's way; [`Store::lock_room`] says whether that is still so.
    pub async fn lock_waiting_runs(
        &self,
        tx: &DatabaseTransaction,
        taker: Taker<'_>,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Waiting>, StoreError> {
        let (room, dialect) = (room(self.dialect(), now), self.dialect());
        let (of_groups, of_all) =
            (dialect.live_runs("r.id", now), dialect.live_runs("run.id", now));
        let sql = format!(
            "WITH {room}, next AS (SELECT w.id FROM (SELECT r.id, r.group_id, \
                 row_number() OVER (PARTITION BY r.group_id \
                   ORDER BY r.priority DESC, r.available_at, r.id) AS place \
               FROM run r WHERE r.group_id IS NOT NULL \
                 AND r.state IN ('queued', 'running', 'retrying') \
                 AND r.state IN ('queued', 'retrying') AND r.available_at <= $1{of_groups} \
                 AND (r.runs_on IS NULL OR {})) w \
               LEFT JOIN room ON room.id = w.group_id \
               WHERE room.id IS NULL OR w.place <= room.free) \
             SELECT run.id, run.schedule_id, s.name AS schedule, n.name AS namespace, \
               run.workflow_id, run.workflow_version, run.trigger, run.scheduled_at, run.due_at, \
               run.started_at, run.attempt, run.max_attempts, run.epoch, run.context, \
               run.idempotency_key, run.group_id, run.runs_on, run.available_at, \
               s.start_deadline_ms, s.jitter_ms \
             FROM run JOIN namespace n ON n.id = run.namespace_id \
             LEFT JOIN schedule s ON s.id = run.schedule_id \
             WHERE run.state IN ('queued', 'retrying') AND run.available_at <= $1{of_all} \
               AND (run.runs_on IS NULL OR {}) \
               AND (run.group_id IS NULL OR run.id IN (SELECT id FROM next)) \
               AND EXISTS (SELECT 1 FROM node WHERE node.id = $3 AND node.state = 'alive') \
             ORDER BY run.priority DESC, run.available_at, run.id LIMIT $2 {}",
            dialect.list_within("r.runs_on", "$4"),
            dialect.list_within("run.runs_on", "$4"),
            dialect.skip_locked("run")
        );
        let tags = serde_json::json!(taker.tags).to_string();
        let values = [now.0.into(), limit.cast_signed().into(), taker.node.into(), tags.into()];
        let statement = self.dialect().statement(sql, values);
        Ok(Waiting::find_by_statement(statement).all(tx).await?)
    }

    /// What still waits at `now` for a node with these tags.
    pub async fn backlog(&self, tags: &[String], now: Timestamp) -> Result<Backlog, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            free: Option<i64>,
            grouped: Option<i64>,
            held: bool,
        }
        let room = room(self.dialect(), now);
        let alive = self.dialect().live_runs("run.id", now);
        let fits = self.dialect().list_within("run.runs_on", "$2");
        let fits = format!("(run.runs_on IS NULL OR {fits})");
        let of_groups = format!(
            "run.group_id IS NOT NULL AND run.state IN ('queued', 'running', 'retrying') \
             AND run.state IN ('queued', 'retrying') AND {fits}{alive}"
        );
        let sql = format!(
            "WITH {room} SELECT \
               (SELECT min(run.available_at) FROM run \
                 WHERE run.state IN ('queued', 'retrying') AND run.group_id IS NULL \
                   AND {fits}{alive}) AS free, \
               (SELECT min(run.available_at) FROM run WHERE {of_groups} \
                 AND (run.available_at > $1 \
                   OR run.group_id NOT IN (SELECT id FROM room WHERE free <= 0))) AS grouped, \
               EXISTS (SELECT 1 FROM run WHERE {of_groups} AND run.available_at <= $1) AS held"
        );
        let tags = serde_json::json!(tags).to_string();
        let statement = self.dialect().statement(sql, [now.0.into(), tags.into()]);
        let Some(row) = Row::find_by_statement(statement).one(self.read()).await? else {
            return Ok(Backlog::default());
        };
        let next = [row.free, row.grouped].into_iter().flatten().min();
        Ok(Backlog { next: next.map(Timestamp), grouped: row.held })
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
               hard_deadline_at = {} + v.hard_limit, changed = {} \
             FROM v WHERE run.id = v.id {{days}}",
            self.dialect().now(),
            self.dialect().stamp("run")
        );
        let statement = Bulk::default()
            .uuid("id", takes.iter().map(|take| take.run_id))
            .int("attempt", takes.iter().map(|take| i64::from(take.attempt)))
            .int("epoch", takes.iter().map(|take| take.epoch))
            .int("hard_limit", takes.iter().map(|take| millis(take.hard_limit)))
            .days(Days::of_keys("run.id", takes.iter().map(|take| take.run_id)))
            .statement(self.dialect(), &sql, vec![node.into(), now.0.into()]);
        tx.execute_raw(statement).await?;
        let begun = || takes.iter().filter(|take| take.task.is_some());
        if begun().next().is_none() {
            return Ok(());
        }
        let statement = Bulk::default()
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

    /// Ends runs that this transaction has locked and that no node can carry out.
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
        let statement = Bulk::default()
            .uuid("id", runs.iter().map(|(id, _)| *id))
            .text("error", runs.iter().map(|(_, error)| error.clone()))
            .days(Days::of_keys("run.id", runs.iter().map(|(id, _)| *id)))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Ends runs that this transaction has locked and whose fires have waited for a place until
    /// after their start deadline: the fires are skipped after all.
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
        let days = Days::of_keys("run.id", runs.iter().map(|(id, _)| *id));
        let ids = Bulk::default().uuid("id", runs.iter().map(|(id, _)| *id));
        tx.execute_raw(ids.days(days).statement(self.dialect(), &sql, vec![now.0.into()])).await?;
        let days = Days::of_instants("fire.scheduled_at", runs.iter().map(|(_, at)| *at));
        let ids = Bulk::default().uuid("id", runs.iter().map(|(id, _)| *id));
        let statement = ids.days(days).statement(
            self.dialect(),
            "UPDATE fire SET verdict = 'skipped', reason = 'deadline', decided_at = {0} \
             FROM v WHERE fire.id = v.id AND fire.verdict = 'started' {days}",
            vec![now.0.into()],
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
        let sql = format!(
            "UPDATE run SET changed = {} WHERE id = $1 {}",
            self.dialect().stamp("run"),
            self.dialect().within(Days::of_keys("id", [row.id].into_iter()))
        );
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
            "UPDATE run SET {} WHERE id = $1 AND state IN ('queued', 'running', 'retrying') {}",
            self.cancelled("$2", "$3", "$4"),
            self.dialect().within(Days::of_keys("id", [run_id].into_iter()))
        );
        let reason = reason.map(str::to_owned);
        let values = [run_id.into(), now.0.into(), by.into(), reason.into()];
        let result = tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(result.rows_affected() > 0)
    }

    /// Does so with those of `runs` that are alive and that no other transaction holds: it waits
    /// for nobody, so it may hold other rows. Whoever needs all of them asks again.
    pub async fn cancel_if_live_and_free(
        &self,
        tx: &DatabaseTransaction,
        runs: &[Uuid],
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE run SET {} FROM (SELECT run.id AS id FROM v JOIN run ON run.id = v.id \
               WHERE run.state IN ('queued', 'running', 'retrying') {{days}} {}) free \
             WHERE run.id = free.id {{days}}",
            self.cancelled("{0}", "{1}", "{2}"),
            self.dialect().skip_locked("run")
        );
        let values = vec![now.0.into(), by.into(), reason.into()];
        let days = Days::of_keys("run.id", runs.iter().copied());
        let ids = Bulk::default().uuid("id", runs.iter().copied()).days(days);
        tx.execute_raw(ids.statement(self.dialect(), &sql, values)).await?;
        Ok(())
    }

    /// What is written over a run that somebody wants stopped; who asked first is remembered.
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

/// A duration as the tables have it.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2)
}
