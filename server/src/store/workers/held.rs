//! The jobs that a worker holds, all together.

use std::collections::HashMap;

use entity::{
    Timestamp,
    job::{ActiveModel, Column, Entity, Model, State},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, ExprTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Select, Set, sea_query::Expr,
};
use uuid::Uuid;

use super::is_held;
use crate::store::{DatabaseTransaction, StoreError};

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
        .filter(is_held())
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
    let first = unheard(worker, known).order_by_asc(Column::TakenAt).limit(limit);
    let ids: Vec<Uuid> = first.select_only().column(Column::Id).into_tuple().all(tx).await?;
    // Every transaction locks jobs in the order of their keys, to prevent deadlocks.
    let query = unheard(worker, known).filter(Column::Id.is_in(ids)).order_by_asc(Column::Id);
    let mut rows = query.lock_exclusive().all(tx).await?;
    rows.sort_by_key(|row| row.taken_at);
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
    // A job may have ended, or may have to stop, since it was read.
    let still = Entity::update_many()
        .set(row)
        .filter(Column::Id.is_in(ids))
        .filter(Column::WorkerId.eq(worker))
        .filter(is_held())
        .filter(Column::Stop.eq(false));
    still.exec(tx).await?;
    Ok(())
}

/// The jobs that a worker holds, does not know, and has
/// not reported on since they were handed over.
fn unheard(worker: Uuid, known: &[Uuid]) -> Select<Entity> {
    let untouched = Expr::col(Column::TakenAt).add(Expr::col(Column::LeaseMs));
    of(worker)
        .filter(Column::Id.is_not_in(known.iter().copied()))
        .filter(Expr::col(Column::LeaseUntil).eq(untouched))
        .filter(Column::Stop.eq(false))
}

fn of(worker: Uuid) -> Select<Entity> {
    Entity::find().filter(Column::WorkerId.eq(worker)).filter(is_held())
}

/// The jobs that a worker must stop.
pub async fn to_stop<C: ConnectionTrait>(
    connection: &C,
    worker: Uuid,
) -> Result<Vec<Uuid>, StoreError> {
    let query = of(worker).filter(Column::Stop.eq(true)).select_only().column(Column::Id);
    Ok(query.into_tuple().all(connection).await?)
}
