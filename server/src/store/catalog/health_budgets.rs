//! Budgets of health: at most one per namespace and tag.

use entity::health_budget::{ActiveModel, Column, Entity, Model};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, sea_query::OnConflict,
};
use uuid::Uuid;

use crate::store::{DatabaseTransaction, StoreError};

/// The budget of this tag, locked until the transaction ends; `None` if it has none.
pub async fn lock(
    tx: &DatabaseTransaction,
    namespace: Uuid,
    tag: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Tag.eq(tag))
        .lock_exclusive();
    Ok(query.one(tx).await?)
}

/// The budgets of a namespace, by tag.
pub async fn list<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::NamespaceId.eq(namespace));
    Ok(query.order_by_asc(Column::Tag).all(connection).await?)
}

/// The budgets of a namespace, by tag, locked until the transaction ends.
pub async fn lock_all(tx: &DatabaseTransaction, namespace: Uuid) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::NamespaceId.eq(namespace));
    Ok(query.order_by_asc(Column::Tag).lock_exclusive().all(tx).await?)
}

/// Number of budgets in a namespace.
pub async fn count<C: ConnectionTrait>(connection: &C, namespace: Uuid) -> Result<u64, StoreError> {
    Ok(Entity::find().filter(Column::NamespaceId.eq(namespace)).count(connection).await?)
}

/// Sets the budget of a tag, in place of an existing one, which keeps its key.
pub async fn put<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    let replaced = OnConflict::columns([Column::NamespaceId, Column::Tag])
        .update_columns([
            Column::Missed,
            Column::Failed,
            Column::Stalled,
            Column::LateMs,
            Column::SpanMs,
            Column::Module,
            Column::UpdatedBy,
            Column::UpdatedAt,
        ])
        .to_owned();
    Entity::insert(row).on_conflict(replaced).exec_without_returning(tx).await?;
    Ok(())
}

/// Removes a budget.
pub async fn remove<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}
