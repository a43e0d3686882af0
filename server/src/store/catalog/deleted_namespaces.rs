//! Namespaces that were deleted.
//!
//! A deleted namespace is hidden from everyone, with everything in it, and can be restored for a
//! week. Its name is free at once: the row has another one, which no namespace can be given, and
//! keeps its own beside it. After the week, retention removes what is in it in chunks. The row
//! itself stays, because the audit log refers to it.

use entity::{
    Timestamp,
    namespace::{Column, Entity, Model},
    schedule,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait,
    sea_query::{Expr, SelectStatement},
};
use uuid::Uuid;

use crate::store::{DatabaseTransaction, Dialect, Page, PageWindow, StoreError, db::rows::KeyRow};

/// What a namespace contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct NamespaceContents {
    /// Number of schedules that are not deleted.
    pub schedules: i64,
    /// Number of workflows that are not deleted.
    pub workflows: i64,
    /// Number of secrets.
    pub secrets: i64,
    /// Number of members.
    pub members: i64,
    /// Number of tokens of this namespace alone that are not revoked.
    pub tokens: i64,
    /// Number of live runs, those that wait included.
    pub live_runs: i64,
}

/// The namespaces that are hidden: deleted, with something left in them.
pub async fn hidden<C: ConnectionTrait>(connection: &C) -> Result<Vec<Uuid>, StoreError> {
    let query = Entity::find().select_only().column(Column::Id).filter(Column::PurgedAt.is_null());
    Ok(query.filter(Column::DeletedAt.is_not_null()).into_tuple().all(connection).await?)
}

/// The keys of the namespaces that are not deleted.
pub async fn live_keys<C: ConnectionTrait>(connection: &C) -> Result<Vec<Uuid>, StoreError> {
    let query = Entity::find().select_only().column(Column::Id).filter(Column::DeletedAt.is_null());
    Ok(query.into_tuple().all(connection).await?)
}

/// A query for the keys of the namespaces that are deleted.
pub(in crate::store) fn deleted_keys() -> SelectStatement {
    Entity::find()
        .select_only()
        .column(Column::Id)
        .filter(Column::DeletedAt.is_not_null())
        .into_query()
}

/// The namespace with this name, locked until the transaction ends.
pub async fn lock<C: ConnectionTrait>(tx: &C, name: &str) -> Result<Option<Model>, StoreError> {
    let query = Entity::find().filter(Column::Name.eq(name)).filter(Column::DeletedAt.is_null());
    Ok(query.lock_exclusive().one(tx).await?)
}

/// The latest namespace with this name that was deleted `since` then, locked until the transaction
/// ends.
pub async fn lock_deleted<C: ConnectionTrait>(
    tx: &C,
    name: &str,
    since: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::DeletedName.eq(name))
        .filter(Column::DeletedAt.gte(since.0))
        .order_by_desc(Column::DeletedAt)
        .order_by_desc(Column::Id)
        .limit(1);
    Ok(query.lock_exclusive().one(tx).await?)
}

/// A page of the namespaces that were deleted `since` then, in order of creation.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    window: &PageWindow<Uuid>,
    since: Timestamp,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find().filter(Column::DeletedAt.gte(since.0));
    let mut query = list.clone();
    if let Some(after) = window.after {
        query = query.filter(Column::Id.gt(after));
    }
    let query = query.order_by_asc(Column::Id).limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// What the namespace contains.
pub async fn contents<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    id: Uuid,
) -> Result<NamespaceContents, StoreError> {
    let sql = "SELECT \
           (SELECT count(*) FROM schedule WHERE namespace_id = $1 AND deleted_at IS NULL) AS schedules, \
           (SELECT count(*) FROM workflow WHERE namespace_id = $1 AND deleted_at IS NULL) AS workflows, \
           (SELECT count(*) FROM secret WHERE namespace_id = $1) AS secrets, \
           (SELECT count(*) FROM membership WHERE namespace_id = $1) AS members, \
           (SELECT count(*) FROM api_token \
             WHERE namespace_id = $1 AND revoked_at IS NULL) AS tokens, \
           (SELECT count(*) FROM run \
             WHERE namespace_id = $1 AND state IN ('queued', 'running', 'retrying')) AS live_runs";
    let statement = dialect.statement(sql, [id.into()]);
    let row = NamespaceContents::find_by_statement(statement).one(connection).await?;
    Ok(row.unwrap_or_default())
}

/// Marks a locked namespace as deleted, and frees its name.
pub async fn delete<C: ConnectionTrait>(
    tx: &C,
    row: &Model,
    by: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    // No namespace can be given a name with a tilde.
    let aside = format!("{}~{}", row.name, row.id);
    Entity::update_many()
        .col_expr(Column::Name, Expr::value(aside))
        .col_expr(Column::DeletedName, Expr::value(row.name.clone()))
        .col_expr(Column::DeletedBy, Expr::value(by))
        .col_expr(Column::DeletedAt, Expr::value(at.0))
        .filter(Column::Id.eq(row.id))
        .exec(tx)
        .await?;
    Ok(())
}

/// Restores a locked namespace under this name. Fails with
/// [`crate::store::Constraint::NamespaceName`] if the name is taken.
pub async fn restore<C: ConnectionTrait>(tx: &C, id: Uuid, name: &str) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::Name, Expr::value(name))
        .col_expr(Column::DeletedName, Expr::value(Option::<String>::None))
        .col_expr(Column::DeletedBy, Expr::value(Option::<String>::None))
        .col_expr(Column::DeletedAt, Expr::value(Option::<i64>::None))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// The schedules of a namespace that have a backfill which may still start runs.
pub async fn backfilled_schedules(
    tx: &DatabaseTransaction,
    dialect: &Dialect,
    namespace: Uuid,
) -> Result<Vec<Uuid>, StoreError> {
    let sql = "SELECT DISTINCT schedule_id AS id FROM backfill \
         WHERE namespace_id = $1 AND state IN ('running', 'paused') ORDER BY schedule_id";
    let statement = dialect.statement(sql, [namespace.into()]);
    let rows = KeyRow::find_by_statement(statement).all(tx).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Deletes all schedules of a namespace at the same instant as the namespace. Returns their number.
pub async fn delete_schedules(
    tx: &DatabaseTransaction,
    dialect: &Dialect,
    namespace: Uuid,
    at: Timestamp,
) -> Result<u64, StoreError> {
    // In the order in which others lock schedules, too.
    let all = schedule::Entity::find()
        .select_only()
        .column(schedule::Column::Id)
        .filter(schedule::Column::NamespaceId.eq(namespace))
        .filter(schedule::Column::DeletedAt.is_null())
        .order_by_asc(schedule::Column::Id)
        .lock_exclusive();
    all.into_tuple::<Uuid>().all(tx).await?;
    // No maintenance window may change or end the pause in which a schedule is restored.
    let sql = format!(
        "UPDATE schedule SET deleted_at = $2, updated_at = $2, enabled = false, \
           paused_until = NULL, paused_missed = NULL, \
           paused_reason = CASE WHEN paused_window_id IS NULL THEN paused_reason END, \
           paused_by = CASE WHEN paused_window_id IS NULL THEN paused_by END, \
           paused_window_id = NULL, pause_from = NULL, pause_window_id = NULL, changed = {} \
         WHERE namespace_id = $1 AND deleted_at IS NULL",
        dialect.stamp("schedule")
    );
    let statement = dialect.statement(sql, [namespace.into(), at.0.into()]);
    Ok(tx.execute_raw(statement).await?.rows_affected())
}

/// Restores the schedules that were deleted with the namespace at that instant. They are paused.
/// Returns their number.
pub async fn restore_schedules(
    tx: &DatabaseTransaction,
    dialect: &Dialect,
    namespace: &Model,
    by: &str,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let Some(at) = namespace.deleted_at else { return Ok(0) };
    let sql = format!(
        "UPDATE schedule SET deleted_at = NULL, updated_at = $3, enabled = false, \
           paused_at = coalesce(paused_at, $2), paused_by = coalesce(paused_by, $4), \
           paused_reason = coalesce(paused_reason, 'its namespace was deleted and restored'), \
           changed = {} \
         WHERE namespace_id = $1 AND deleted_at = $2",
        dialect.stamp("schedule")
    );
    let values = [namespace.id.into(), at.0.into(), now.0.into(), by.into()];
    let statement = dialect.statement(sql, values);
    Ok(tx.execute_raw(statement).await?.rows_affected())
}

/// The name under which people know a namespace, deleted or not.
pub fn known_name(row: Model) -> String {
    row.deleted_name.unwrap_or(row.name)
}
