//! Namespaces.

use entity::namespace::{Column, Entity, Model};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, sea_query::Expr};
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

/// Says how long the namespace keeps its history; gives what it was before.
pub async fn set_retention<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    days: Option<i32>,
) -> Result<Option<i32>, StoreError> {
    let before = Entity::find_by_id(id).one(tx).await?.and_then(|row| row.retention_days);
    let update = Entity::update_many().col_expr(Column::RetentionDays, Expr::value(days));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(before)
}
