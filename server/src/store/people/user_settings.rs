//! The settings of users' consoles.

use entity::{
    Timestamp,
    user_setting::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, Set, sea_query::OnConflict};
use uuid::Uuid;

use crate::store::StoreError;

/// The settings of those users who have any, in no particular order.
pub async fn by_users<C: ConnectionTrait>(
    connection: &C,
    users: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().filter(Column::UserId.is_in(users.iter().copied())).all(connection).await?)
}

/// Replaces a user's settings.
pub async fn put<C: ConnectionTrait>(
    tx: &C,
    user_id: Uuid,
    settings: serde_json::Value,
    at: Timestamp,
) -> Result<(), StoreError> {
    let row = ActiveModel { user_id: Set(user_id), settings: Set(settings), updated_at: Set(at) };
    let again = OnConflict::column(Column::UserId)
        .update_columns([Column::Settings, Column::UpdatedAt])
        .to_owned();
    Entity::insert(row).on_conflict(again).exec_without_returning(tx).await?;
    Ok(())
}
