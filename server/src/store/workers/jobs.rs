use std::collections::HashMap;

use entity::{
    Timestamp,
    job::{ActiveModel, Column, Entity, Model, State},
    job_line, worker,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, ExprTrait, FromQueryResult, PaginatorTrait,
    QueryFilter, QuerySelect, Set, Value, sea_query::Expr,
};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::store::{DatabaseTransaction, Store, StoreError, db::bulk::Bulk};

/// A job that somebody claims to have.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Which.
    pub id: Uuid,
    /// What it was handed over with.
    pub token: String,
}

/// How a worker says that a job ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// With what came out.
    Completed(Json),
    /// Why, and whether another attempt would fail as well.
    Failed(String, bool),
}

impl Store {
    /// The jobs of these queues that wait for a worker with these tags, locked: the highest priority
    /// first, and of one priority the oldest.
    pub async fn lock_waiting_jobs(
        &self,
        tx: &DatabaseTransaction,
        (worker, queues): (&worker::Model, &[String]),
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

    /// Hands locked jobs over to a worker, each with a token of its own.
    pub async fn take_locked_jobs(
        &self,
        tx: &DatabaseTransaction,
        worker: Uuid,
        taken: &[Claim],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let rows = Bulk::default()
            .uuid("id", taken.iter().map(|claim| claim.id))
            .text("token", taken.iter().map(|claim| claim.token.clone()));
        let statement = rows.statement(
            self.dialect(),
            "UPDATE job SET state = 'held', worker_id = {0}, token = v.token, taken_at = {1}, \
               lease_until = {1} + job.lease_ms FROM v WHERE job.id = v.id",
            vec![worker.into(), now.0.into()],
        );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Prolongs the leases of those jobs that are still whose the worker says; gives which those
    /// are, and whether each is to be stopped.
    pub async fn keep_jobs_if_held(
        &self,
        tx: &DatabaseTransaction,
        claims: &[Claim],
        now: Timestamp,
    ) -> Result<HashMap<Uuid, bool>, StoreError> {
        #[derive(FromQueryResult)]
        struct Kept {
            id: Uuid,
            stop: bool,
        }
        if claims.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = Bulk::default()
            .uuid("id", claims.iter().map(|claim| claim.id))
            .text("token", claims.iter().map(|claim| claim.token.clone()));
        let statement = rows.statement(
            self.dialect(),
            // What was extended is not shortened.
            "UPDATE job SET lease_until = CASE WHEN job.lease_until > {0} + job.lease_ms \
               THEN job.lease_until ELSE {0} + job.lease_ms END FROM v \
             WHERE job.id = v.id AND job.token = v.token AND job.state = 'held' \
               AND job.awaited_until > {0} \
             RETURNING job.id AS id, job.stop AS stop",
            vec![now.0.into()],
        );
        let kept = Kept::find_by_statement(statement).all(tx).await?;
        Ok(kept.into_iter().map(|row| (row.id, row.stop)).collect())
    }
}

/// Whether anything waits in a worker's queues, whatever tags it asks for.
pub async fn is_any_waiting<C: ConnectionTrait>(
    connection: &C,
    worker: &worker::Model,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(worker.namespace_id))
        .filter(Column::State.eq(State::Waiting))
        .filter(Column::Queue.is_in(worker.queues.0.iter().cloned()))
        .filter(Column::AwaitedUntil.gt(now));
    let found: Option<Uuid> =
        query.select_only().column(Column::Id).into_tuple().one(connection).await?;
    Ok(found.is_some())
}

/// How many jobs a worker has.
pub async fn held_by<C: ConnectionTrait>(connection: &C, worker: Uuid) -> Result<u64, StoreError> {
    Ok(of(worker).count(connection).await?)
}

/// How many jobs each of these workers has.
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

fn of(worker: Uuid) -> sea_orm::Select<Entity> {
    Entity::find().filter(Column::WorkerId.eq(worker)).filter(Column::State.eq(State::Held))
}

/// The jobs of a worker that it is to stop.
pub async fn to_stop<C: ConnectionTrait>(
    connection: &C,
    worker: Uuid,
) -> Result<Vec<Uuid>, StoreError> {
    let query = of(worker).filter(Column::Stop.eq(true)).select_only().column(Column::Id);
    Ok(query.into_tuple().all(connection).await?)
}

/// The job, as far as the token is its own.
pub async fn of_claim<C: ConnectionTrait>(
    connection: &C,
    claim: &Claim,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(claim.id).filter(Column::Token.eq(claim.token.clone()));
    Ok(query.one(connection).await?)
}

/// Ends a job as its worker says, if it still has it and somebody waits for it.
pub async fn settle_if_held<C: ConnectionTrait>(
    tx: &C,
    claim: &Claim,
    end: &End,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let row = match end {
        End::Completed(output) => ActiveModel {
            state: Set(State::Succeeded),
            output: Set(Some(output.clone())),
            ..ActiveModel::default()
        },
        End::Failed(error, is_final) => ActiveModel {
            state: Set(State::Failed),
            error: Set(Some(error.clone())),
            is_final: Set(*is_final),
            ..ActiveModel::default()
        },
    };
    let row = ActiveModel { ended_at: Set(Some(now)), ..row };
    let update = Entity::update_many()
        .set(row)
        .filter(Column::Id.eq(claim.id))
        .filter(Column::Token.eq(claim.token.clone()))
        .filter(Column::State.eq(State::Held))
        .filter(Column::AwaitedUntil.gt(now));
    Ok(update.exec(tx).await?.rows_affected == 1)
}

/// Gives a job a longer lease, once.
pub async fn extend_if_held<C: ConnectionTrait>(
    tx: &C,
    claim: &Claim,
    lease_ms: i64,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let update = Entity::update_many()
        .col_expr(Column::LeaseUntil, Expr::value(now.0.saturating_add(lease_ms)))
        .filter(Column::Id.eq(claim.id))
        .filter(Column::Token.eq(claim.token.clone()))
        .filter(Column::State.eq(State::Held))
        .filter(Column::AwaitedUntil.gt(now));
    Ok(update.exec(tx).await?.rows_affected == 1)
}

/// Adds lines to what a job has printed, if its worker still has it.
pub async fn add_lines_if_held<C: ConnectionTrait>(
    tx: &C,
    claim: &Claim,
    lines: &[(bool, String)],
    now: Timestamp,
) -> Result<bool, StoreError> {
    let added = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    let update = Entity::update_many()
        .col_expr(Column::Lines, Expr::col(Column::Lines).add(added))
        .filter(Column::Id.eq(claim.id))
        .filter(Column::Token.eq(claim.token.clone()))
        .filter(Column::State.eq(State::Held))
        .filter(Column::AwaitedUntil.gt(now));
    if update.exec(tx).await?.rows_affected == 0 {
        return Ok(false);
    }
    // Locked by the update: nobody adds others meanwhile.
    let Some(job) = of_claim(tx, claim).await? else { return Ok(false) };
    let first = job.lines - added + 1;
    let rows = (first..).zip(lines).map(|(seq, (is_error, text))| job_line::ActiveModel {
        job_id: Set(claim.id),
        seq: Set(seq),
        at: Set(now),
        is_error: Set(*is_error),
        text: Set(text.clone()),
    });
    job_line::Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(true)
}
