//! The operations of workers on jobs: take, keep and end them. Each write names the job's token.

use std::collections::{HashMap, HashSet};

use entity::{
    Strings, Timestamp,
    job::{Column, Entity, Model, State},
    worker,
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, ExprTrait, FromQueryResult, QueryFilter,
    QuerySelect, Value, sea_query::Expr,
};
use serde_json::Value as Json;
use uuid::Uuid;

use super::{is_held, queues};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::bulk::{BulkValues, returned_ids},
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

    /// Commits a transaction that has changed these jobs.
    pub async fn commit_jobs(
        &self,
        tx: DatabaseTransaction,
        ids: impl Iterator<Item = Uuid>,
    ) -> Result<(), StoreError> {
        self.commit_unseen(tx).await?;
        self.changes().touched_jobs().add(ids);
        self.changes().wake();
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
        self.commit_jobs(tx, ended.iter().copied()).await?;
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
                BulkValues::default().uuid("id", ids).statement(self.dialect(), &lock, vec![]);
            tx.execute_raw(statement).await?;
        }
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
            .filter(is_held())
            .filter(Column::Stop.eq(true))
            .filter(Column::WorkerId.is_not_null())
            .distinct()
            .into_tuple()
            .all(self.read())
            .await?;
        Ok((kinds, stopping.into_iter().collect()))
    }
}

fn claims<'a>(of: impl Iterator<Item = &'a JobClaim> + Clone) -> BulkValues {
    BulkValues::default()
        .uuid("id", of.clone().map(|claim| claim.id))
        .uuid("worker_id", of.clone().map(|claim| claim.worker))
        .text("token", of.map(|claim| claim.token.clone()))
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
