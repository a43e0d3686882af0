//! The browsers that are signed in. Keys come hashed: who reads the table cannot be them.

use entity::{
    Timestamp,
    session::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, TryInsertResult, sea_query::OnConflict,
};

use super::StoreError;

/// The session of that key, unless it has expired.
pub async fn live<C: ConnectionTrait>(
    connection: &C,
    id: &str,
    now: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::ExpiresAt.gt(now));
    Ok(query.one(connection).await?)
}

/// Adds a session; false if the key is taken.
pub async fn insert_if_new<C: ConnectionTrait>(
    tx: &C,
    row: ActiveModel,
) -> Result<bool, StoreError> {
    let inserted =
        Entity::insert(row).on_conflict_do_nothing_on([Column::Id]).exec_without_returning(tx);
    Ok(matches!(inserted.await?, TryInsertResult::Inserted(1..)))
}

/// Writes a session, new or not.
pub async fn save<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    let mut same = OnConflict::column(Column::Id);
    same.update_columns([Column::Data, Column::ExpiresAt]);
    Entity::insert(row).on_conflict(same).exec_without_returning(tx).await?;
    Ok(())
}

/// Ends a session.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: &str) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}
