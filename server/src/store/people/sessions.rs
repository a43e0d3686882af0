//! Sessions of signed-in browsers.
//! Callers pass keys as hashes, so that reading the table lets no one take over a session.

use entity::{
    Timestamp,
    session::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
    TryInsertResult, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::StoreError;

/// The session with this key, unless it has expired.
pub async fn live<C: ConnectionTrait>(
    connection: &C,
    id: &str,
    now: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::ExpiresAt.gt(now));
    Ok(query.one(connection).await?)
}

/// Adds a session. Returns false if the key is taken.
pub async fn insert_if_new<C: ConnectionTrait>(
    tx: &C,
    row: ActiveModel,
) -> Result<bool, StoreError> {
    let inserted =
        Entity::insert(row).on_conflict_do_nothing_on([Column::Id]).exec_without_returning(tx);
    Ok(matches!(inserted.await?, TryInsertResult::Inserted(1..)))
}

/// Updates an existing session. If the session has ended in the meantime, it stays ended: a request
/// in progress must not restore it.
pub async fn save_if_there<C: ConnectionTrait>(
    tx: &C,
    id: &str,
    row: ActiveModel,
) -> Result<bool, StoreError> {
    let update = Entity::update_many().set(row).filter(Column::Id.eq(id));
    Ok(update.exec(tx).await?.rows_affected > 0)
}

/// The sessions of a user that have not expired, latest start first.
pub async fn of_user<C: ConnectionTrait>(
    connection: &C,
    user: Uuid,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::UserId.eq(user)).filter(Column::ExpiresAt.gt(now));
    Ok(query.order_by_desc(Column::BeganAt).limit(limit).all(connection).await?)
}

/// Ends the sessions of a user, except for one.
pub async fn delete_all_of<C: ConnectionTrait>(
    tx: &C,
    user: Uuid,
    except: Option<&str>,
) -> Result<u64, StoreError> {
    let mut delete = Entity::delete_many().filter(Column::UserId.eq(user));
    if let Some(except) = except {
        delete = delete.filter(Column::Id.ne(except));
    }
    Ok(delete.exec(tx).await?.rows_affected)
}

/// Sets the password mark for which the session remains valid.
pub async fn set_mark<C: ConnectionTrait>(tx: &C, id: &str, mark: &str) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::Mark, Expr::value(mark));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Ends a session.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: &str) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}
