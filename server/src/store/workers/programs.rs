use entity::{
    Timestamp, job,
    worker::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Set, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::StoreError;

/// Adds a worker.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// The worker of that key, if it was heard since.
pub async fn heard_since<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    since: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::HeartbeatAt.gte(since));
    Ok(query.one(connection).await?)
}

/// The workers of a namespace that were heard since, by name.
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

/// How many workers of a namespace were heard since.
pub async fn count<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    since: Timestamp,
) -> Result<u64, StoreError> {
    let query = Entity::find().filter(Column::NamespaceId.eq(namespace));
    Ok(query.filter(Column::HeartbeatAt.gte(since)).count(connection).await?)
}

/// The worker was heard.
pub async fn beat<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    now: Timestamp,
    draining: bool,
) -> Result<(), StoreError> {
    let update = Entity::update_many()
        .col_expr(Column::HeartbeatAt, Expr::value(now.0))
        .col_expr(Column::Draining, Expr::value(draining));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Removes a worker; what it holds is lost.
pub async fn remove<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    now: Timestamp,
) -> Result<(), StoreError> {
    let row = job::ActiveModel {
        state: Set(job::State::Lost),
        ended_at: Set(Some(now)),
        ..job::ActiveModel::default()
    };
    let lost = job::Entity::update_many()
        .set(row)
        .filter(job::Column::WorkerId.eq(id))
        .filter(job::Column::State.eq(job::State::Held));
    lost.exec(tx).await?;
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}

/// Removes those that were not heard since.
pub async fn forget_silent<C: ConnectionTrait>(tx: &C, since: Timestamp) -> Result<(), StoreError> {
    Entity::delete_many().filter(Column::HeartbeatAt.lt(since)).exec(tx).await?;
    Ok(())
}
