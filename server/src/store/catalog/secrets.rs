//! Encrypted secrets. This module cannot decrypt them.

use entity::{
    run,
    secret::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
};
use uuid::Uuid;

use super::deleted_namespaces::deleted_keys;
use crate::store::{
    DatabaseTransaction, Dialect, Page, PageWindow, StoreError, db::lookups::lookups,
};

/// The id of the advisory lock for decisions about the encryption key.
const SEALING: i64 = 0x6361_7269_7365_616c;

/// Prevents other transactions from encrypting until this one ends, so that the set of keys in use
/// cannot change. On SQLite, the single writer already acts as that lock.
pub async fn lock_sealing(tx: &DatabaseTransaction, dialect: &Dialect) -> Result<(), StoreError> {
    if dialect.is_postgres() {
        let lock = format!("SELECT pg_advisory_xact_lock({SEALING})");
        tx.execute_unprepared(&lock).await?;
    }
    Ok(())
}

/// The secrets with these names in the namespace of a run. None if the namespace is deleted.
pub async fn of_run<C: ConnectionTrait>(
    connection: &C,
    run: Uuid,
    names: &[String],
) -> Result<Vec<Model>, StoreError> {
    let namespace = run::Entity::find()
        .select_only()
        .column(run::Column::NamespaceId)
        .filter(run::Column::Id.eq(run));
    let query = Entity::find()
        .filter(Column::NamespaceId.in_subquery(namespace.into_query()))
        .filter(Column::NamespaceId.not_in_subquery(deleted_keys()))
        .filter(Column::Name.is_in(names));
    Ok(query.all(connection).await?)
}

/// The secrets with these names in a namespace. None if the namespace is deleted.
pub async fn of_names<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    names: &[String],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::NamespaceId.not_in_subquery(deleted_keys()))
        .filter(Column::Name.is_in(names));
    Ok(query.all(connection).await?)
}

/// The secret with this name, locked until the transaction ends.
pub async fn lock<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Name.eq(name))
        .lock_exclusive();
    Ok(query.one(tx).await?)
}

/// The secret with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// A page of a namespace's secrets, sorted by name.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    window: &PageWindow<String>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find().filter(Column::NamespaceId.eq(namespace));
    let mut query = list.clone();
    if let Some(after) = &window.after {
        query = query.filter(Column::Name.gt(after.as_str()));
    }
    let query = query.order_by_asc(Column::Name).limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// All secrets, sorted by namespace and name.
pub async fn list<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().order_by_asc(Column::NamespaceId).order_by_asc(Column::Name);
    Ok(query.all(connection).await?)
}

lookups!("secret", removed: lock_sealed_otherwise, insert, update, delete);

/// Each encryption key in use, with the name of one secret that it encrypts.
pub async fn samples<C: ConnectionTrait>(
    connection: &C,
) -> Result<Vec<(String, String)>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::KeyId)
        .column_as(Column::Name.min(), "name")
        .group_by(Column::KeyId)
        .order_by_asc(Column::KeyId);
    Ok(query.into_tuple().all(connection).await?)
}
