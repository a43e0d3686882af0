//! The channels that deliver alerts.

use entity::alert_channel::{ActiveModel, Column, Entity, Model};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
};
use uuid::Uuid;

use crate::store::{StoreError, db::lookups::lookups};

lookups!("channel", removed: by_ids, list, lock, lock_all, insert, update, delete);

/// The channels of all namespaces: at most `limit`.
pub async fn all<C: ConnectionTrait>(connection: &C, limit: u64) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().order_by_asc(Column::Id).limit(limit).all(connection).await?)
}

/// Number of channels in a namespace.
pub async fn count<C: ConnectionTrait>(connection: &C, namespace: Uuid) -> Result<u64, StoreError> {
    Ok(Entity::find().filter(Column::NamespaceId.eq(namespace)).count(connection).await?)
}

/// The channels in `ids` that belong to the namespace.
/// They cannot be deleted before the transaction ends.
pub async fn keep<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    ids: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Id.is_in(ids.iter().copied()))
        .order_by_asc(Column::Id)
        .lock_shared();
    Ok(query.all(tx).await?)
}
