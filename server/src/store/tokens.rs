//! The keys that programs sign in with.

use entity::{
    Timestamp,
    api_token::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, sea_query::Expr,
};
use uuid::Uuid;

use super::StoreError;

/// The token of that hash, unless it was revoked or has expired.
pub async fn live_by_hash<C: ConnectionTrait>(
    connection: &C,
    hash: &str,
    now: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let unexpired =
        Condition::any().add(Column::ExpiresAt.is_null()).add(Column::ExpiresAt.gt(now));
    let query = Entity::find().filter(Column::Hash.eq(hash)).filter(Column::RevokedAt.is_null());
    Ok(query.filter(unexpired).one(connection).await?)
}

/// All of them, by name.
pub async fn list<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().order_by_asc(Column::Name).all(connection).await?)
}

/// The token of that name.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Name.eq(name)).one(connection).await?)
}

/// Adds a token; a name that exists is [`super::Constraint::TokenName`].
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Takes the token back; false if it was taken back before.
pub async fn revoke_if_live<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let update = Entity::update_many().col_expr(Column::RevokedAt, Expr::value(at.0));
    let update = update.filter(Column::Id.eq(id)).filter(Column::RevokedAt.is_null());
    Ok(update.exec(tx).await?.rows_affected > 0)
}

/// The token was used.
pub async fn stamp_use<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::UsedAt, Expr::value(at.0));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}
