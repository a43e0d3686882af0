//! Namespaces.

use entity::namespace::{Column, Entity, Model};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::StoreError;

/// The namespace of that name.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Name.eq(name)).one(connection).await?)
}

/// The namespaces of those keys, in no order.
pub async fn by_ids<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Id.is_in(ids.iter().copied())).all(connection).await?)
}
