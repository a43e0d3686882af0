//! The people who sign in here.

use entity::{
    Timestamp,
    user::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
    sea_query::Expr,
};
use uuid::Uuid;

use super::StoreError;

/// The user of that key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The user of that name.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Name.eq(name)).one(connection).await?)
}

/// Everybody, by name.
pub async fn list<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().order_by_asc(Column::Name).all(connection).await?)
}

/// Whether there is nobody.
pub async fn is_empty<C: ConnectionTrait>(connection: &C) -> Result<bool, StoreError> {
    Ok(Entity::find().limit(1).one(connection).await?.is_none())
}

/// Adds a user; a name that exists is [`super::Constraint::UserName`].
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Gives the user of that key another password; false if there is none.
pub async fn set_password_hash<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    hash: String,
) -> Result<bool, StoreError> {
    let update = Entity::update_many().col_expr(Column::PasswordHash, Expr::value(hash));
    Ok(update.filter(Column::Id.eq(id)).exec(tx).await?.rows_affected > 0)
}

/// From `at` on the user may not sign in, and what sessions there are have ended; null: may again.
pub async fn set_disabled<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let at = at.map(|at| at.0);
    let mut update = Entity::update_many().col_expr(Column::DisabledAt, Expr::value(at));
    if at.is_some() {
        update = update.col_expr(Column::SessionsFrom, Expr::value(at));
    }
    Ok(update.filter(Column::Id.eq(id)).exec(tx).await?.rows_affected > 0)
}

/// The user signed in.
pub async fn stamp_sign_in<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::SignedInAt, Expr::value(at.0));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}
