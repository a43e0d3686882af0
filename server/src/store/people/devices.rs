//! The browsers in which users have signed in before. Callers pass keys as hashes.

use entity::{
    Timestamp,
    known_device::{ActiveModel, Column, Entity},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set,
    sea_query::OnConflict,
};
use uuid::Uuid;

use crate::store::StoreError;

/// Whether the user has signed in with this device before.
pub async fn is_known<C: ConnectionTrait>(connection: &C, id: &str) -> Result<bool, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?.is_some())
}

/// Records a sign-in with this device. For each user, the `most` recently used devices are kept.
pub async fn remember<C: ConnectionTrait>(
    tx: &C,
    id: String,
    user_id: Uuid,
    at: Timestamp,
    most: u64,
) -> Result<(), StoreError> {
    let row = ActiveModel { id: Set(id), user_id: Set(user_id), used_at: Set(at) };
    let again = OnConflict::column(Column::Id).update_column(Column::UsedAt).to_owned();
    Entity::insert(row).on_conflict(again).exec_without_returning(tx).await?;
    let kept = Entity::find()
        .filter(Column::UserId.eq(user_id))
        .order_by_desc(Column::UsedAt)
        .offset(most)
        .limit(1)
        .one(tx)
        .await?;
    if let Some(oldest) = kept {
        let old = Entity::delete_many()
            .filter(Column::UserId.eq(user_id))
            .filter(Column::UsedAt.lte(oldest.used_at));
        old.exec(tx).await?;
    }
    Ok(())
}
