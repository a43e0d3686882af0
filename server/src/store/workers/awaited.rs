//! The operations of nodes on jobs: create, watch, stop and remove them.

use entity::{
    Strings, Timestamp,
    job::{ActiveModel, Column, Entity, Model, State},
    job_line,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, Set, Statement, sea_query::Expr,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::job_lines::JobHead;
use crate::store::{
    Store, StoreError,
    db::bulk::{BulkValues, returned_ids},
};

/// Maximum number of log lines that one transaction removes, unless a single job has printed more:
/// SQLite allows no other write meanwhile.
const MAX_LINES_AT_ONCE: i64 = 10_000;

/// A job to create, for any worker of its queue.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The key of the job.
    pub id: Uuid,
    /// The namespace of the run.
    pub namespace_id: Uuid,
    /// The run to which the attempt belongs.
    pub run_id: Uuid,
    /// The name of the task in the run's workflow.
    pub run_task: String,
    /// The number of the attempt, counted from 1.
    pub attempt: i32,
    /// The queue from which workers take the job.
    pub queue: String,
    /// The name of the task in the worker's program.
    pub task: String,
    /// The tags that a worker must have to take the job.
    pub tags: Option<Strings>,
    /// The job's input.
    pub input: Value,
    /// The facts about the run that its worker receives.
    pub about: Value,
    /// The priority of the job: waiting jobs with a higher priority are handed over first.
    pub priority: i16,
    /// How long the worker may take, in milliseconds.
    pub timeout_ms: i64,
    /// How long a worker keeps the job without reporting, in milliseconds.
    pub lease_ms: i64,
    /// When the job was created.
    pub created_at: Timestamp,
    /// The time until which the job's node waits, unless the node renews the wait.
    pub awaited_until: Timestamp,
}

/// The progress of a job.
#[derive(Clone, Debug, FromQueryResult)]
pub struct JobProgress {
    /// The key of the job.
    pub id: Uuid,
    /// The state of the job. See [`State`].
    pub state: State,
    /// Number of lines that the job has printed;
    /// of a long output, only those of its kept beginning.
    pub lines: i64,
    /// Number of lines in the kept beginning of a long output.
    pub head_lines: Option<i64>,
    /// The name of the worker that holds or held the job.
    pub worker: Option<String>,
    /// The output, if the job succeeded.
    pub output: Option<Value>,
    /// The error, if the job failed.
    pub error: Option<String>,
    /// Whether another attempt would fail as well.
    pub is_final: bool,
}

impl Store {
    /// Creates jobs, except for those that are there because the answer to an earlier call was
    /// lost. Open jobs of earlier attempts at the same tasks are cancelled, because the node that
    /// waited for them is gone. Those of later attempts stay: a node that has lost the run during an
    /// outage may come here late.
    pub async fn add_jobs(&self, jobs: &[NewJob], now: Timestamp) -> Result<(), StoreError> {
        let again: Vec<&NewJob> = jobs.iter().filter(|job| job.attempt > 1).collect();
        let statement = self.inserted(jobs);
        if again.is_empty() && self.dialect().is_postgres() {
            self.write_rows(statement).await?;
            self.changes().wake_workers();
            return Ok(());
        }
        let tx = self.begin().await?;
        if !again.is_empty() {
            let earlier = BulkValues::default()
                .uuid("id", again.iter().map(|job| job.id))
                .uuid("run_id", again.iter().map(|job| job.run_id))
                .text("run_task", again.iter().map(|job| job.run_task.clone()))
                .int("attempt", again.iter().map(|job| i64::from(job.attempt)))
                .statement(
                    self.dialect(),
                    "SELECT job.id AS id FROM v JOIN job ON job.run_id = v.run_id \
                       AND job.run_task = v.run_task AND job.attempt <= v.attempt \
                       AND job.id <> v.id AND job.ended_at IS NULL",
                    vec![],
                );
            let earlier = returned_ids(&tx, earlier).await?;
            self.lock_jobs(&tx, earlier.iter().copied()).await?;
            let ended = ActiveModel {
                state: Set(State::Cancelled),
                stop: Set(true),
                ended_at: Set(Some(now)),
                ..ActiveModel::default()
            };
            let update = Entity::update_many().set(ended).filter(Column::Id.is_in(earlier));
            update.filter(Column::EndedAt.is_null()).exec(&tx).await?;
        }
        tx.query_all_raw(statement).await?;
        self.commit(tx).await?;
        self.changes().wake_workers();
        Ok(())
    }

    fn inserted(&self, jobs: &[NewJob]) -> Statement {
        let of = || jobs.iter();
        let tags = |job: &NewJob| job.tags.as_ref().map(|tags| json!(tags.0));
        let rows = BulkValues::default()
            .uuid("id", of().map(|job| job.id))
            .uuid("namespace_id", of().map(|job| job.namespace_id))
            .uuid("run_id", of().map(|job| job.run_id))
            .text("run_task", of().map(|job| job.run_task.clone()))
            .int("attempt", of().map(|job| i64::from(job.attempt)))
            .text("queue", of().map(|job| job.queue.clone()))
            .text("task", of().map(|job| job.task.clone()))
            .json("tags", of().map(tags))
            .json("input", of().map(|job| job.input.clone()))
            .json("about", of().map(|job| job.about.clone()))
            .int("priority", of().map(|job| i64::from(job.priority)))
            .int("timeout_ms", of().map(|job| job.timeout_ms))
            .int("lease_ms", of().map(|job| job.lease_ms))
            .int("created_at", of().map(|job| job.created_at.0))
            .int("awaited_until", of().map(|job| job.awaited_until.0));
        let columns = "id, namespace_id, run_id, run_task, attempt, queue, task, tags, input, about, \
                       priority, timeout_ms, lease_ms, created_at, awaited_until";
        let sql = format!(
            "INSERT INTO job ({columns}, state, stop, lines, line_bytes, is_final) \
             SELECT {columns}, 'waiting', FALSE, 0, 0, FALSE FROM v WHERE true \
             ON CONFLICT (id) DO NOTHING RETURNING id"
        );
        rows.statement(self.dialect(), &sql, vec![])
    }

    /// Extends the wait for those of these jobs whose wait ends before `until` by more than
    /// `slack_ms` milliseconds: each renewal updates a row and its indexes.
    /// If `may_lose` is true, also marks jobs as lost whose workers did not report in time.
    pub async fn await_jobs(
        &self,
        ids: &[Uuid],
        now: Timestamp,
        until: Timestamp,
        slack_ms: i64,
        may_lose: bool,
    ) -> Result<(), StoreError> {
        let due = BulkValues::default().uuid("id", ids.iter().copied()).statement(
            self.dialect(),
            "SELECT job.id AS id FROM v JOIN job ON job.id = v.id WHERE job.ended_at IS NULL \
               AND (job.awaited_until < {0} OR (job.state = 'held' AND job.lease_until <= {1}))",
            vec![until.0.saturating_sub(slack_ms).into(), now.0.into()],
        );
        let ids = returned_ids(self.rounds(), due).await?;
        if ids.is_empty() {
            return Ok(());
        }
        let tx = self.begin().await?;
        self.lock_jobs(&tx, ids.iter().copied()).await?;
        let rows = || BulkValues::default().uuid("id", ids.iter().copied());
        let awaited = rows().statement(
            self.dialect(),
            "UPDATE job SET awaited_until = {0} FROM v WHERE job.id = v.id \
               AND job.ended_at IS NULL",
            vec![until.0.into()],
        );
        tx.execute_raw(awaited).await?;
        if !may_lose {
            return self.commit_unseen(tx).await;
        }
        let lost = rows().statement(
            self.dialect(),
            "UPDATE job SET state = 'lost', ended_at = {0} FROM v WHERE job.id = v.id \
               AND job.state = 'held' AND job.lease_until <= {0}",
            vec![now.0.into()],
        );
        if tx.execute_raw(lost).await?.rows_affected() > 0 {
            return self.commit(tx).await;
        }
        self.commit_unseen(tx).await
    }

    /// The progress of these jobs.
    /// Jobs that wait for a worker are included only if `with_waiting` is true.
    pub async fn progress_of_jobs(
        &self,
        ids: &[Uuid],
        with_waiting: bool,
    ) -> Result<Vec<JobProgress>, StoreError> {
        let sql = format!(
            "SELECT job.id AS id, job.state AS state, \
               COALESCE(job.head_lines, job.lines) AS lines, job.head_lines AS head_lines, \
               worker.name AS worker, job.output AS output, job.error AS error, job.is_final AS is_final \
             FROM v JOIN job ON job.id = v.id LEFT JOIN worker ON worker.id = job.worker_id{}",
            if with_waiting { "" } else { " WHERE job.state <> 'waiting'" }
        );
        let ids = BulkValues::default().uuid("id", ids.iter().copied());
        let statement = ids.statement(self.dialect(), &sql, vec![]);
        Ok(JobProgress::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Asks the worker of a job to stop it.
    /// A job without a worker ends immediately. Returns whether the job had not ended before.
    pub async fn stop_job(&self, id: Uuid, now: Timestamp) -> Result<bool, StoreError> {
        let tx = self.begin().await?;
        let stop = Entity::update_many()
            .col_expr(Column::Stop, Expr::value(true))
            .filter(Column::Id.eq(id))
            .filter(Column::EndedAt.is_null());
        let was_open = stop.exec(&tx).await?.rows_affected == 1;
        let row = ActiveModel {
            state: Set(State::Cancelled),
            ended_at: Set(Some(now)),
            ..ActiveModel::default()
        };
        let cancelled = Entity::update_many()
            .set(row)
            .filter(Column::Id.eq(id))
            .filter(Column::State.eq(State::Waiting));
        cancelled.exec(&tx).await?;
        self.commit(tx).await?;
        Ok(was_open)
    }

    /// Ends the wait for a job, whatever its worker will report.
    pub async fn abandon_job(&self, id: Uuid, now: Timestamp) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let row = ActiveModel {
            state: Set(State::Cancelled),
            stop: Set(true),
            ended_at: Set(Some(now)),
            ..ActiveModel::default()
        };
        let abandoned = Entity::update_many()
            .set(row)
            .filter(Column::Id.eq(id))
            .filter(Column::EndedAt.is_null());
        abandoned.exec(&tx).await?;
        self.commit(tx).await
    }

    /// Removes at most `limit` jobs for which no node has waited since `since`, fewer if they have
    /// printed much, and workers that have not reported since then.
    /// Returns whether there may be more. Their workers only learn that the jobs are gone.
    pub async fn forget_jobs(&self, since: Timestamp, limit: u64) -> Result<bool, StoreError> {
        #[derive(FromQueryResult)]
        struct Old {
            id: Uuid,
            lines: i64,
        }
        let tx = self.begin().await?;
        let old = format!(
            "SELECT job.id, job.lines FROM job WHERE job.awaited_until < $1 \
             ORDER BY job.awaited_until, job.id LIMIT $2 {}",
            self.dialect().skip_locked("job")
        );
        let values = [since.0.into(), limit.cast_signed().into()];
        let old = Old::find_by_statement(self.dialect().statement(old, values));
        let old = old.all(&tx).await?;
        let mut lines = 0_i64;
        let few = old.iter().enumerate().take_while(|(index, row)| {
            lines = lines.saturating_add(row.lines);
            *index == 0 || lines <= MAX_LINES_AT_ONCE
        });
        let ids: Vec<Uuid> = few.map(|(_, row)| row.id).collect();
        let of_jobs = job_line::Column::JobId.is_in(ids.iter().copied());
        job_line::Entity::delete_many().filter(of_jobs).exec(&tx).await?;
        let these = Column::Id.is_in(ids.iter().copied());
        Entity::delete_many().filter(these).exec(&tx).await?;
        super::programs::forget_silent(&tx, since).await?;
        self.commit_unseen(tx).await?;
        let is_full = u64::try_from(old.len()).is_ok_and(|found| found >= limit);
        Ok(is_full || ids.len() < old.len())
    }
}

/// The job with this key, unless it was removed.
pub async fn job<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The lines that a job has printed after line `after` and up
/// to line `last`, in order: at most a hundred.
pub async fn lines_between<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    after: i64,
    last: i64,
) -> Result<Vec<job_line::Model>, StoreError> {
    let query = job_line::Entity::find()
        .filter(job_line::Column::JobId.eq(id))
        .filter(job_line::Column::Seq.gt(after))
        .filter(job_line::Column::Seq.lte(last))
        .order_by_asc(job_line::Column::Seq);
    Ok(query.limit(100).all(connection).await?)
}

/// The part of a long output that is kept after its beginning.
#[derive(Clone, Debug)]
pub struct JobTail {
    /// The lines of the end, in order.
    pub lines: Vec<job_line::Model>,
    /// Number of lines that were removed before the end.
    pub removed_lines: u64,
    /// Number of bytes in the removed lines, with their line breaks.
    pub removed_bytes: u64,
}

/// The end of a job's long output; `None` if the output is not long.
/// To be read after the job has ended.
pub async fn tail_of_job<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<JobTail>, StoreError> {
    let Some(job) = Entity::find_by_id(id).one(connection).await? else { return Ok(None) };
    let Some(head) = JobHead::of(&job) else { return Ok(None) };
    let query = job_line::Entity::find()
        .filter(job_line::Column::JobId.eq(id))
        .filter(job_line::Column::Seq.gt(head.lines))
        .order_by_asc(job_line::Column::Seq);
    let lines = query.all(connection).await?;
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let kept_bytes: usize = lines.iter().map(|line| line.text.len() + 1).sum();
    let behind = job.lines - head.lines;
    let removed_lines = behind - count(lines.len());
    let removed_bytes = job.line_bytes - head.bytes + behind - count(kept_bytes);
    Ok(Some(JobTail {
        lines,
        removed_lines: u64::try_from(removed_lines).unwrap_or_default(),
        removed_bytes: u64::try_from(removed_bytes).unwrap_or_default(),
    }))
}
