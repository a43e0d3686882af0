//! The namespaces.

use std::collections::BTreeSet;

use entity::namespace::{ActiveModel, Column, Entity, Model};
use sea_orm::{
    ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder,
    QuerySelect, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{Page, PageWindow, StoreError, db::lookups::lookups};

lookups!("namespace", removed: by_ids);

/// The namespace with this name, unless it is deleted.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find().filter(Column::Name.eq(name)).filter(Column::DeletedAt.is_null());
    Ok(query.one(connection).await?)
}

/// The keys of the namespaces with these names, in no particular order.
pub async fn keys_named<C: ConnectionTrait>(
    connection: &C,
    names: &BTreeSet<String>,
) -> Result<Vec<Uuid>, StoreError> {
    let query = Entity::find().select_only().column(Column::Id).filter(Column::Name.is_in(names));
    Ok(query.filter(Column::DeletedAt.is_null()).into_tuple().all(connection).await?)
}

/// All namespaces, including deleted ones, in order of creation.
pub async fn all<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().order_by_asc(Column::Id).all(connection).await?)
}

/// A page of namespaces in order of creation: of all of them, or of those with the given keys.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    only: Option<&[Uuid]>,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let mut list = Entity::find().filter(Column::DeletedAt.is_null());
    if let Some(only) = only {
        list = list.filter(Column::Id.is_in(only.iter().copied()));
    }
    let mut query = list.clone();
    if let Some(after) = window.after {
        query = query.filter(Column::Id.gt(after));
    }
    let query = query.order_by_asc(Column::Id).limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// Adds a namespace. Fails with [`crate::store::Constraint::NamespaceName`] if the name is taken.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Renames a namespace.
pub async fn rename<C: ConnectionTrait>(tx: &C, id: Uuid, name: &str) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::Name, Expr::value(name));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Sets a namespace's own quotas; `None` applies the configured defaults.
pub async fn set_quotas<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    quotas: Option<serde_json::Value>,
) -> Result<(), StoreError> {
    let row = ActiveModel { quotas: Set(quotas), ..ActiveModel::default() };
    Entity::update_many().set(row).filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Sets how long the namespace keeps its history. Returns the previous value.
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
