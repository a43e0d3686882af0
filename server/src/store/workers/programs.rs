use entity::{
    Timestamp, job,
    worker::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Set, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{DatabaseTransaction, Store, StoreError};

/// Adds a worker.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// The worker with this key, if it has reported since `since`.
pub async fn heard_since<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    since: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::HeartbeatAt.gte(since));
    Ok(query.one(connection).await?)
}

/// The workers of a namespace that have reported since `since`, sorted by name.
pub async fn list<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::HeartbeatAt.gte(since))
        .order_by_asc(Column::Name)
        .order_by_asc(Column::Id);
    Ok(query.limit(limit).all(connection).await?)
}

/// Number of workers of a namespace that have reported since `since`.
pub async fn count<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    since: Timestamp,
) -> Result<u64, StoreError> {
    let query = Entity::find().filter(Column::NamespaceId.eq(namespace));
    Ok(query.filter(Column::HeartbeatAt.gte(since)).count(connection).await?)
}

/// Number of workers that registered with a token and have reported since `since`.
pub async fn count_of_token<C: ConnectionTrait>(
    connection: &C,
    token: Uuid,
    since: Timestamp,
) -> Result<u64, StoreError> {
    let query = Entity::find().filter(Column::TokenId.eq(token));
    Ok(query.filter(Column::HeartbeatAt.gte(since)).count(connection).await?)
}

/// The worker, locked until the transaction ends, so that only one transaction
/// at a time counts its jobs and adds others.
pub async fn lock(tx: &DatabaseTransaction, id: Uuid) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).lock_exclusive().one(tx).await?)
}

/// Records a report of the worker and, if the worker states it, whether it takes new jobs.
pub async fn beat<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    now: Timestamp,
    draining: Option<bool>,
) -> Result<(), StoreError> {
    let mut update = Entity::update_many().col_expr(Column::HeartbeatAt, Expr::value(now.0));
    if let Some(draining) = draining {
        update = update.col_expr(Column::Draining, Expr::value(draining));
    }
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Removes a worker. The jobs that it holds are lost.
/// If the worker states which jobs it knows, those that never reached it are not lost.
pub async fn remove(
    store: &Store,
    tx: &DatabaseTransaction,
    id: Uuid,
    known: Option<&[Uuid]>,
    now: Timestamp,
) -> Result<(), StoreError> {
    // Jobs that are being handed over to it are seen below, and not left with a removed worker.
    lock(tx, id).await?;
    // All its jobs are locked in the usual order before any of them is changed. `put_back` locks
    // some of them in no particular order, which could cause a deadlock.
    let held: Vec<Uuid> = job::Entity::find()
        .select_only()
        .column(job::Column::Id)
        .filter(job::Column::WorkerId.eq(id))
        .filter(super::is_held())
        .into_tuple()
        .all(tx)
        .await?;
    store.lock_jobs(tx, held.into_iter()).await?;
    if let Some(known) = known {
        super::held::put_back(tx, id, known).await?;
    }
    let row = job::ActiveModel {
        state: Set(job::State::Lost),
        ended_at: Set(Some(now)),
        ..job::ActiveModel::default()
    };
    let lost = job::Entity::update_many()
        .set(row)
        .filter(job::Column::WorkerId.eq(id))
        .filter(super::is_held());
    lost.exec(tx).await?;
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}

/// Removes workers that have not reported since `since`.
pub async fn forget_silent<C: ConnectionTrait>(tx: &C, since: Timestamp) -> Result<(), StoreError> {
    Entity::delete_many().filter(Column::HeartbeatAt.lt(since)).exec(tx).await?;
    Ok(())
}
