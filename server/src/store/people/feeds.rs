//! Feeds that programs read with a secret URL: calendars and badges.

use entity::{
    Timestamp,
    calendar_feed::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::StoreError;

/// The feed whose key has this hash.
pub async fn by_hash<C: ConnectionTrait>(
    connection: &C,
    hash: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Hash.eq(hash)).one(connection).await?)
}

/// The feed with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The feeds of a user, sorted by name: up to `most`.
pub async fn of_user<C: ConnectionTrait>(
    connection: &C,
    owner: Uuid,
    most: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::UserId.eq(owner)).order_by_asc(Column::Name);
    Ok(query.limit(most).all(connection).await?)
}

/// Number of feeds that a user has.
pub async fn count_of<C: ConnectionTrait>(connection: &C, owner: Uuid) -> Result<u64, StoreError> {
    Ok(Entity::find().filter(Column::UserId.eq(owner)).count(connection).await?)
}

/// Adds a feed.
/// Fails with [`crate::store::Constraint::FeedName`] if its owner has a feed with that name.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Removes a feed. Returns false if it did not exist.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<bool, StoreError> {
    Ok(Entity::delete_by_id(id).exec(tx).await?.rows_affected > 0)
}

/// Removes all feeds of a user.
pub async fn delete_all_of<C: ConnectionTrait>(tx: &C, owner: Uuid) -> Result<(), StoreError> {
    Entity::delete_many().filter(Column::UserId.eq(owner)).exec(tx).await?;
    Ok(())
}

/// Records that the feed was read.
pub async fn stamp_use<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::UsedAt, Expr::value(at.0));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}
