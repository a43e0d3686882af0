//! Budgets of health: at most one per namespace and tag.

use entity::health_budget::{ActiveModel, Column, Entity, Model};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
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

/// Adds the budget of a tag that has none.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Writes the set columns of a budget that this transaction has locked.
pub async fn update<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    columns: ActiveModel,
) -> Result<(), StoreError> {
    Entity::update_many().set(columns).filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Removes a budget.
pub async fn remove<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}
