use std::collections::{HashMap, HashSet};

use entity::{
    Strings, Timestamp,
    job::{ActiveModel, Column, Entity, Model, State},
    job_line, worker,
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, ExprTrait, FromQueryResult,
    PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Set, Value, sea_query::Expr,
};
use serde_json::Value as Json;
use uuid::Uuid;

use super::queues;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::bulk::{Bulk, returned_ids},
};

/// Maximum number of kinds of waiting jobs that are distinguished.
const MAX_KINDS: i64 = 10_000;

/// A worker's claim that it holds a job.
#[derive(Clone, Debug)]
pub struct JobClaim {
    /// The key of the worker.
    pub worker: Uuid,
    /// The key of the job.
    pub id: Uuid,
    /// The token that the worker received with the job.
    pub token: String,
}

/// The end of a job, as its worker reports it.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEnd {
    /// The job succeeded with this output.
    Completed(Json),
    /// The job failed: the error, and whether another attempt would fail as well.
    Failed(String, bool),
}

/// The beginning of a job's long output, which is kept whatever comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobHead {
    /// The number of the last line in the beginning.
    pub lines: i64,
    /// The size of the beginning in bytes.
    pub bytes: i64,
}

impl JobHead {
    /// The beginning of a job's output; `None` if the output is kept whole.
    pub fn of(job: &Model) -> Option<Self> {
        Some(Self { lines: job.head_lines?, bytes: job.head_bytes? })
    }
}

/// The requirements that waiting jobs share.
#[derive(Clone, Debug, FromQueryResult, PartialEq, Eq)]
pub struct JobKind {
    /// The namespace of the jobs.
    pub namespace_id: Uuid,
    /// The queue of the jobs.
    pub queue: String,
    /// The tags that a worker must have to take the jobs.
    pub tags: Option<Strings>,
}

impl Store {
    /// The jobs in these queues that wait for a worker with these tags, locked until the
    /// transaction ends: highest priority first, and oldest first among equal priorities.
    pub async fn lock_waiting_jobs(
        &self,
        tx: &DatabaseTransaction,
        worker: &worker::Model,
        queues: &[String],
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Model>, StoreError> {
        let dialect = self.dialect();
        let tags = serde_json::json!(worker.tags.0).to_string();
        let mut values: Vec<Value> =
            vec![worker.namespace_id.into(), now.0.into(), tags.into(), limit.cast_signed().into()];
        let places: Vec<String> =
            (0..queues.len()).map(|index| format!("${}", index + 5)).collect();
        values.extend(queues.iter().map(|queue| Value::from(queue.clone())));
        let sql = format!(
            "SELECT job.* FROM job WHERE job.namespace_id = $1 AND job.state = 'waiting' \
               AND job.awaited_until > $2 AND NOT job.stop AND job.queue IN ({}) \
               AND (job.tags IS NULL OR {}) \
             ORDER BY job.priority DESC, job.created_at, job.id LIMIT $4 {}",
            places.join(", "),
            dialect.list_within("job.tags", "$3"),
            dialect.skip_locked("job"),
        );
        Ok(Entity::find().from_raw_sql(dialect.statement(sql, values)).all(tx).await?)
    }

    /// Hands locked jobs over to the workers that claim them, each with a token of its own.
    pub async fn take_locked_jobs(
        &self,
        tx: &DatabaseTransaction,
        taken: &[JobClaim],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let rows = claims(taken.iter()).statement(
            self.dialect(),
            "UPDATE job SET state = 'held', worker_id = v.worker_id, token = v.token, \
               taken_at = {0}, lease_until = {0} + job.lease_ms FROM v WHERE job.id = v.id",
            vec![now.0.into()],
        );
        tx.execute_raw(rows).await?;
        Ok(())
    }

    /// Extends the leases of those jobs that the worker still holds.
    /// Returns these jobs, and whether each must be stopped.
    pub async fn keep_jobs_if_held(
        &self,
        tx: &DatabaseTransaction,
        kept: &[JobClaim],
        now: Timestamp,
    ) -> Result<HashMap<Uuid, bool>, StoreError> {
        #[derive(FromQueryResult)]
        struct Kept {
            id: Uuid,
            stop: bool,
        }
        if kept.is_empty() {
            return Ok(HashMap::new());
        }
        self.lock_jobs(tx, kept.iter().map(|claim| claim.id)).await?;
        let statement = claims(kept.iter()).statement(
            self.dialect(),
            // A lease that already lasts longer is not shortened.
            "UPDATE job SET lease_until = CASE WHEN job.lease_until > {0} + job.lease_ms \
               THEN job.lease_until ELSE {0} + job.lease_ms END FROM v \
             WHERE job.id = v.id AND job.worker_id = v.worker_id AND job.token = v.token \
               AND job.state = 'held' \
             RETURNING job.id AS id, job.stop AS stop",
            vec![now.0.into()],
        );
        let kept = Kept::find_by_statement(statement).all(tx).await?;
        Ok(kept.into_iter().map(|row| (row.id, row.stop)).collect())
    }

    /// Ends jobs as their workers report, if the workers still hold them.
    /// Returns the jobs that were ended. A job that must be stopped can only fail,
    /// because the outcome of its attempt is already decided. No job may be named twice.
    pub async fn settle_jobs_if_held(
        &self,
        ends: &[(JobClaim, JobEnd)],
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        let tx = self.begin().await?;
        self.lock_jobs(&tx, ends.iter().map(|(claim, _)| claim.id)).await?;
        let state = |end: &JobEnd| match end {
            JobEnd::Completed(_) => State::Succeeded,
            JobEnd::Failed(..) => State::Failed,
        };
        let output = |end: &JobEnd| match end {
            JobEnd::Completed(output) => Some(output.clone()),
            JobEnd::Failed(..) => None,
        };
        let error = |end: &JobEnd| match end {
            JobEnd::Completed(_) => None,
            JobEnd::Failed(error, _) => Some(error.clone()),
        };
        let is_final = |end: &JobEnd| i64::from(matches!(end, JobEnd::Failed(_, true)));
        let rows = claims(ends.iter().map(|(claim, _)| claim))
            .text("state", ends.iter().map(|(_, end)| state(end).to_value()))
            .json("output", ends.iter().map(|(_, end)| output(end)))
            .text("error", ends.iter().map(|(_, end)| error(end)))
            .int("is_final", ends.iter().map(|(_, end)| is_final(end)));
        let statement = rows.statement(
            self.dialect(),
            "UPDATE job SET state = v.state, output = v.output, error = v.error, \
               is_final = v.is_final <> 0, ended_at = {0} FROM v \
             WHERE job.id = v.id AND job.worker_id = v.worker_id AND job.token = v.token \
               AND job.state = 'held' AND (v.state = 'failed' OR NOT job.stop) \
             RETURNING job.id AS id",
            vec![now.0.into()],
        );
        let ended = returned_ids(&tx, statement).await?;
        self.commit(tx).await?;
        Ok(ended)
    }

    /// Locks these jobs in a fixed order, to prevent deadlocks.
    pub(in crate::store) async fn lock_jobs(
        &self,
        tx: &DatabaseTransaction,
        ids: impl Iterator<Item = Uuid>,
    ) -> Result<(), StoreError> {
        if self.dialect().is_postgres() {
            let lock = format!(
                "SELECT job.id FROM v JOIN job ON job.id = v.id ORDER BY job.id {}",
                self.dialect().for_update("job")
            );
            let statement =
                Bulk::default().uuid("id", ids).statement(self.dialect(), &lock, vec![]);
            tx.execute_raw(statement).await?;
        }
        Ok(())
    }

    /// Removes lines between the beginning of a job's output and its end.
    /// Of the lines after the beginning, the last ones of each stream stay, up to these limits.
    pub async fn trim_lines_of_job(
        &self,
        tx: &DatabaseTransaction,
        job: Uuid,
        head: JobHead,
        max_lines: i64,
        max_bytes: i64,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM job_line WHERE job_id = $1 AND seq IN (SELECT seq FROM ( \
                     SELECT seq, row_number() OVER w AS place, \
                       SUM(OCTET_LENGTH(text) + 1) OVER w AS bytes \
                     FROM job_line WHERE job_id = $1 AND seq > $2 \
                     WINDOW w AS (PARTITION BY is_error ORDER BY seq DESC) \
                   ) AS ends WHERE place > $3 OR (place > 1 AND bytes > $4))";
        let values: [Value; 4] =
            [job.into(), head.lines.into(), max_lines.into(), max_bytes.into()];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(())
    }

    /// The requirements of the waiting jobs, except for those in queues that are at their limit, and
    /// the workers that have jobs to stop.
    pub async fn waiting_for_workers(
        &self,
        now: Timestamp,
    ) -> Result<(Vec<JobKind>, HashSet<Uuid>), StoreError> {
        // Without limits, which is usual, the held jobs need not be counted.
        let below_limit = match queues::any_limited(self.read()).await? {
            true => {
                "LEFT JOIN worker_queue ON worker_queue.namespace_id = kind.namespace_id \
                   AND worker_queue.name = kind.queue \
                 LEFT JOIN (SELECT namespace_id, queue, count(*) AS held FROM job \
                     WHERE state = 'held' GROUP BY namespace_id, queue) AS at_work \
                   ON at_work.namespace_id = kind.namespace_id AND at_work.queue = kind.queue \
                 WHERE worker_queue.id IS NULL \
                   OR worker_queue.max_jobs > COALESCE(at_work.held, 0)"
            }
            false => "",
        };
        let sql = format!(
            "SELECT kind.namespace_id AS namespace_id, kind.queue AS queue, kind.tags AS tags \
             FROM (SELECT DISTINCT namespace_id, queue, tags FROM job WHERE state = 'waiting' \
                 AND awaited_until > $1 LIMIT {MAX_KINDS}) AS kind {below_limit}"
        );
        let statement = self.dialect().statement(sql, [now.0.into()]);
        let kinds = JobKind::find_by_statement(statement).all(self.read()).await?;
        let stopping: Vec<Uuid> = Entity::find()
            .select_only()
            .column(Column::WorkerId)
            .filter(Column::State.eq(State::Held))
            .filter(Column::Stop.eq(true))
            .filter(Column::WorkerId.is_not_null())
            .distinct()
            .into_tuple()
            .all(self.read())
            .await?;
        Ok((kinds, stopping.into_iter().collect()))
    }
}

fn claims<'a>(of: impl Iterator<Item = &'a JobClaim> + Clone) -> Bulk {
    Bulk::default()
        .uuid("id", of.clone().map(|claim| claim.id))
        .uuid("worker_id", of.clone().map(|claim| claim.worker))
        .text("token", of.map(|claim| claim.token.clone()))
}

/// Number of jobs that a worker holds.
pub async fn held_by<C: ConnectionTrait>(connection: &C, worker: Uuid) -> Result<u64, StoreError> {
    Ok(of(worker).count(connection).await?)
}

/// The number of jobs that each of these workers holds.
pub async fn held_by_each<C: ConnectionTrait>(
    connection: &C,
    workers: &[Uuid],
) -> Result<HashMap<Uuid, i64>, StoreError> {
    let held: Vec<(Uuid, i64)> = Entity::find()
        .select_only()
        .column(Column::WorkerId)
        .column_as(Column::Id.count(), "held")
        .filter(Column::WorkerId.is_in(workers.iter().copied()))
        .filter(Column::State.eq(State::Held))
        .group_by(Column::WorkerId)
        .into_tuple()
        .all(connection)
        .await?;
    Ok(held.into_iter().collect())
}

/// Hands jobs over to a worker again that it has not reported on and does not know: at most
/// `limit`. A job is handed over a second time, but not a third time.
pub async fn hand_over_again(
    tx: &DatabaseTransaction,
    worker: Uuid,
    known: &[Uuid],
    now: Timestamp,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = unheard(worker, known).order_by_asc(Column::TakenAt).limit(limit);
    let rows = query.lock_exclusive().all(tx).await?;
    let kept = Expr::col(Column::LeaseMs).add(now.0.saturating_add(1));
    let update = Entity::update_many().col_expr(Column::LeaseUntil, kept);
    update.filter(Column::Id.is_in(rows.iter().map(|row| row.id))).exec(tx).await?;
    Ok(rows)
}

/// Returns jobs to their queues that were handed over to a worker and did not reach it: jobs that
/// the worker has not reported on and does not know.
pub async fn put_back<C: ConnectionTrait>(
    tx: &C,
    worker: Uuid,
    known: &[Uuid],
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> =
        unheard(worker, known).select_only().column(Column::Id).into_tuple().all(tx).await?;
    let row = ActiveModel {
        state: Set(State::Waiting),
        worker_id: Set(None),
        token: Set(None),
        taken_at: Set(None),
        lease_until: Set(None),
        ..ActiveModel::default()
    };
    Entity::update_many().set(row).filter(Column::Id.is_in(ids)).exec(tx).await?;
    Ok(())
}

/// The jobs that a worker holds, does not know, and has
/// not reported on since they were handed over.
fn unheard(worker: Uuid, known: &[Uuid]) -> sea_orm::Select<Entity> {
    let untouched = Expr::col(Column::TakenAt).add(Expr::col(Column::LeaseMs));
    of(worker)
        .filter(Column::Id.is_not_in(known.iter().copied()))
        .filter(Expr::col(Column::LeaseUntil).eq(untouched))
        .filter(Column::Stop.eq(false))
}

fn of(worker: Uuid) -> sea_orm::Select<Entity> {
    Entity::find().filter(Column::WorkerId.eq(worker)).filter(Column::State.eq(State::Held))
}

/// The jobs that a worker must stop.
pub async fn to_stop<C: ConnectionTrait>(
    connection: &C,
    worker: Uuid,
) -> Result<Vec<Uuid>, StoreError> {
    let query = of(worker).filter(Column::Stop.eq(true)).select_only().column(Column::Id);
    Ok(query.into_tuple().all(connection).await?)
}

/// The job, if this worker holds it with this token.
pub async fn of_claim<C: ConnectionTrait>(
    connection: &C,
    claim: &JobClaim,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(claim.id)
        .filter(Column::WorkerId.eq(claim.worker))
        .filter(Column::Token.eq(claim.token.clone()));
    Ok(query.one(connection).await?)
}

/// An update of a claimed job, which has an effect only if the worker still holds the job.
fn update_of(claim: &JobClaim) -> sea_orm::UpdateMany<Entity> {
    Entity::update_many()
        .filter(Column::Id.eq(claim.id))
        .filter(Column::WorkerId.eq(claim.worker))
        .filter(Column::Token.eq(claim.token.clone()))
        .filter(Column::State.eq(State::Held))
}

/// Extends the lease of a job once. It never shortens the lease.
pub async fn extend_if_held<C: ConnectionTrait>(
    tx: &C,
    claim: &JobClaim,
    lease_ms: i64,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let until = now.0.saturating_add(lease_ms);
    let later = Expr::case(Expr::col(Column::LeaseUntil).gt(until), Expr::col(Column::LeaseUntil));
    let update = update_of(claim).col_expr(Column::LeaseUntil, later.finally(until).into());
    Ok(update.exec(tx).await?.rows_affected == 1)
}

/// The claimed job, locked until the transaction ends; `None` if the worker no longer holds it.
pub async fn lock_if_held(
    tx: &DatabaseTransaction,
    claim: &JobClaim,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(claim.id)
        .filter(Column::WorkerId.eq(claim.worker))
        .filter(Column::Token.eq(claim.token.clone()))
        .filter(Column::State.eq(State::Held));
    Ok(query.lock_exclusive().one(tx).await?)
}

/// Adds lines to the output of a locked job, and sets the end of its kept beginning.
pub async fn add_lines(
    tx: &DatabaseTransaction,
    job: &Model,
    lines: &[(bool, String)],
    head: Option<JobHead>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let row = ActiveModel {
        head_lines: Set(head.map(|head| head.lines)),
        head_bytes: Set(head.map(|head| head.bytes)),
        ..counted(job, lines)
    };
    Entity::update_many().set(row).filter(Column::Id.eq(job.id)).exec(tx).await?;
    let rows = (job.lines + 1..).zip(lines).map(|(seq, (is_error, text))| job_line::ActiveModel {
        job_id: Set(job.id),
        seq: Set(seq),
        at: Set(now),
        is_error: Set(*is_error),
        text: Set(text.clone()),
    });
    job_line::Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(())
}

/// Counts lines of a locked job without storing them.
pub async fn count_lines(
    tx: &DatabaseTransaction,
    job: &Model,
    lines: &[(bool, String)],
) -> Result<(), StoreError> {
    let row = counted(job, lines);
    Entity::update_many().set(row).filter(Column::Id.eq(job.id)).exec(tx).await?;
    Ok(())
}

/// The counts of a job's lines, with the given lines added.
fn counted(job: &Model, lines: &[(bool, String)]) -> ActiveModel {
    let added = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    let bytes: usize = lines.iter().map(|(_, text)| text.len()).sum();
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    ActiveModel {
        lines: Set(job.lines.saturating_add(added)),
        line_bytes: Set(job.line_bytes.saturating_add(bytes)),
        ..ActiveModel::default()
    }
}
