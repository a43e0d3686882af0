//! Finds, lists and writes schedules for the control plane.
//! The claims of the planner are in a separate file.
//!
//! Each write stamps `changed`.
//! Without the stamp, followers of the change feed would miss the write.

use std::collections::{BTreeSet, HashMap, HashSet};

use entity::{
    Timestamp, audit_event,
    schedule::{ActiveModel, Column, Entity, Model},
    schedule_version,
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, Set, TryIntoModel,
    sea_query::{Expr, ExprTrait, Func, IntoCondition, SimpleExpr},
};
use uuid::Uuid;

pub use super::schedule_versions::{insert_version, version, versions, versions_of};
use super::{
    expected::ExpectedObjects,
    many::{self, InsertOptions, NewObjects},
};
use crate::store::{
    Dialect, Page, PageWindow, Store, StoreError,
    db::{bulk::BulkValues, lookups::lookups},
};

lookups!("schedule", kept: by_ids, of_module, lock);

/// The schedule with this key, deleted or not.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The namespaces of the schedules with these keys, deleted or not: one for each schedule.
pub async fn namespaces_of<C: ConnectionTrait>(
    connection: &C,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Uuid>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::NamespaceId)
        .filter(Column::Id.is_in(ids.iter().copied()));
    Ok(query.into_tuple().all(connection).await?)
}

/// The schedule with this name that is not deleted.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        // The condition repeats the name in lower case, because the index starts with it.
        .filter(Func::lower(Column::Name.into_expr()).eq(Func::lower(name)))
        .filter(Column::Name.eq(name))
        .filter(Column::DeletedAt.is_null());
    Ok(query.one(connection).await?)
}

/// The schedules with these names that are not deleted.
pub async fn by_names<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    names: &[String],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Name.is_in(names))
        .filter(Column::DeletedAt.is_null());
    Ok(query.all(connection).await?)
}

/// Schedules that the module declared or that have one of these names, that are not deleted, and
/// whose cursors are before their catch-up windows at `now`.
pub async fn far_behind<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    module: &str,
    names: &[String],
    now: Timestamp,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(declared(namespace, module, names))
        .filter(Column::NextScheduledAt.into_expr().lt(window_begins(now)))
        .order_by_asc(Column::Name);
    Ok(query.all(connection).await?)
}

/// Moves the cursors of these schedules to the start of their windows, as if earlier instants were
/// recorded. Only for a transaction that will be rolled back.
pub async fn pass_over_far_behind<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    module: &str,
    names: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::NextScheduledAt, window_begins(now))
        .filter(declared(namespace, module, names))
        .filter(Column::NextScheduledAt.into_expr().lt(window_begins(now)))
        .exec(tx)
        .await?;
    Ok(())
}

fn window_begins(now: Timestamp) -> SimpleExpr {
    Expr::value(now.0).sub(Expr::col(Column::CatchUpWindowMs))
}

/// The conflict clause for the index `schedule_name`.
const IF_NAME_FREE: &str =
    "ON CONFLICT (namespace_id, lower(name), name) WHERE deleted_at IS NULL DO NOTHING";

/// New schedules, their first definitions, and their audit log entries.
pub type NewScheduleRows =
    (Vec<ActiveModel>, Vec<schedule_version::ActiveModel>, Vec<audit_event::ActiveModel>);

/// Adds the schedules whose names are free. Returns the keys of those.
pub async fn insert_if_names_free<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    rows: NewScheduleRows,
) -> Result<HashSet<Uuid>, StoreError> {
    let (stamp, tail) = if_names_free(dialect, "id");
    many::written(tx, things(rows).insert(dialect, manner(&stamp, &tail))?).await
}

/// Adds the schedules whose names are free. Returns their rows.
pub async fn insert_and_return_if_names_free<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    rows: NewScheduleRows,
) -> Result<Vec<Model>, StoreError> {
    let (stamp, tail) = if_names_free(dialect, "*");
    let mut written = Vec::new();
    for statement in things(rows).insert(dialect, manner(&stamp, &tail))? {
        written.extend(Entity::find().from_raw_sql(statement).all(tx).await?);
    }
    Ok(written)
}

/// Adds the schedules whose names are free, in one statement that is its own transaction, for
/// PostgreSQL. Nothing is added unless all assumptions hold.
pub async fn make_at_once_if_names_free(
    store: &Store,
    rows: NewScheduleRows,
    expected: &[ExpectedObjects],
) -> Result<Vec<Model>, StoreError> {
    let dialect = store.dialect();
    // The statement returns only the values that the database generates or normalises.
    let (stamp, tail) = if_names_free(dialect, "id, changed, context, ping");
    let model = |row: &ActiveModel| ActiveModel { changed: Set(0), ..row.clone() }.try_into_model();
    let asked: Vec<Model> = rows.0.iter().map(model).collect::<Result<_, _>>()?;
    let mut asked: HashMap<Uuid, Model> = asked.into_iter().map(|row| (row.id, row)).collect();
    let mut made = Vec::new();
    for statement in things(rows).insert_at_once(dialect, manner(&stamp, &tail), Some(expected))? {
        for row in store.write_rows(statement).await? {
            let Some(one) = asked.remove(&row.try_get_by_index(0)?) else { continue };
            made.push(Model {
                changed: row.try_get_by_index(1)?,
                context: row.try_get_by_index(2)?,
                ping: row.try_get_by_index(3)?,
                ..one
            });
        }
    }
    Ok(made)
}

fn if_names_free(dialect: &Dialect, returned: &str) -> (String, String) {
    (dialect.stamp("schedule"), format!("{IF_NAME_FREE} RETURNING {returned}"))
}

fn manner<'a>(stamp: &'a str, tail: &'a str) -> InsertOptions<'a> {
    InsertOptions { stamp: Some(("changed", stamp)), tail }
}

fn things(
    rows: NewScheduleRows,
) -> NewObjects<ActiveModel, schedule_version::ActiveModel, audit_event::ActiveModel> {
    NewObjects { rows, keys: ("schedule_id", "subject_id"), told: Some("snapshot") }
}

/// Writes the set columns of `row` if the schedule is not deleted and still has `version`.
pub async fn update_if_version<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    id: Uuid,
    version: i32,
    row: ActiveModel,
) -> Result<bool, StoreError> {
    let update = Entity::update_many()
        .set(row)
        .col_expr(Column::Changed, Expr::cust(dialect.stamp("schedule")))
        .filter(Column::Id.eq(id))
        .filter(Column::Version.eq(version))
        .filter(Column::DeletedAt.is_null());
    Ok(update.exec(tx).await?.rows_affected == 1)
}

/// Marks these schedules as changed for followers of the change feed. They are locked in key order.
pub async fn stamp<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    ids: &[Uuid],
) -> Result<(), StoreError> {
    lock_all(tx, Column::Id.is_in(ids.iter().copied())).await?;
    Entity::update_many()
        .col_expr(Column::Changed, Expr::cust(dialect.stamp("schedule")))
        .filter(Column::Id.is_in(ids.iter().copied()))
        .exec(tx)
        .await?;
    Ok(())
}

/// Locks, until the transaction ends, the schedules that the module declared or that have one of
/// these names, and that are not deleted.
pub async fn lock_declared<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    module: &str,
    names: &[String],
) -> Result<(), StoreError> {
    lock_all(tx, declared(namespace, module, names)).await
}

async fn lock_all<C: ConnectionTrait>(tx: &C, which: impl IntoCondition) -> Result<(), StoreError> {
    let query = Entity::find().select_only().column(Column::Id).filter(which);
    let query = query.order_by_asc(Column::Id).lock_exclusive();
    query.into_tuple::<Uuid>().all(tx).await?;
    Ok(())
}

fn declared(namespace: Uuid, module: &str, names: &[String]) -> Condition {
    let theirs = Condition::any().add(Column::Module.eq(module)).add(Column::Name.is_in(names));
    Condition::all()
        .add(Column::NamespaceId.eq(namespace))
        .add(Column::DeletedAt.is_null())
        .add(theirs)
}

/// The window that holds a schedule. A window whose pause has ended is no longer needed.
const HELD_BY: &str = "CASE WHEN enabled THEN NULL ELSE paused_window_id END";

/// Marks the schedule as deleted: it no longer fires, and its name becomes free. The row keeps the
/// maintenance window that holds the schedule, in case the schedule is restored.
pub async fn delete<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    id: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::DeletedAt, Expr::value(at))
        .col_expr(Column::UpdatedAt, Expr::value(at))
        .col_expr(Column::Enabled, Expr::value(false))
        .col_expr(Column::PausedUntil, Expr::value(None::<Timestamp>))
        .col_expr(Column::PausedMissed, Expr::value(None::<String>))
        .col_expr(Column::PausedWindowId, Expr::cust(HELD_BY))
        .col_expr(Column::PauseFrom, Expr::value(None::<Timestamp>))
        .col_expr(Column::PauseWindowId, Expr::value(None::<Uuid>))
        .col_expr(Column::Changed, Expr::cust(dialect.stamp("schedule")))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// A page of schedules that are deleted and not removed yet, latest deletion first.
pub async fn deleted<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    window: &PageWindow<(Timestamp, Uuid)>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::DeletedAt.is_not_null());
    let mut query = list
        .clone()
        .order_by_desc(Column::DeletedAt)
        .order_by_desc(Column::Id)
        .limit(window.reach());
    if let Some((at, id)) = window.after {
        let earlier = Condition::any()
            .add(Column::DeletedAt.lt(at))
            .add(Column::DeletedAt.eq(at).and(Column::Id.lt(id)));
        query = query.filter(earlier);
    }
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// The deleted schedule with this key, locked until the transaction ends.
pub async fn lock_deleted<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::DeletedAt.is_not_null()).lock_exclusive();
    Ok(query.one(tx).await?)
}

/// Restores a deleted schedule with the set columns of `row`.
/// Fails with [`crate::store::Constraint::ScheduleName`] if the name is taken.
pub async fn undelete<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    id: Uuid,
    row: ActiveModel,
) -> Result<(), StoreError> {
    Entity::update_many()
        .set(row)
        .col_expr(Column::DeletedAt, Expr::value(None::<Timestamp>))
        .col_expr(Column::Changed, Expr::cust(dialect.stamp("schedule")))
        .filter(Column::Id.eq(id))
        .filter(Column::DeletedAt.is_not_null())
        .exec(tx)
        .await?;
    Ok(())
}

/// A schedule, with its name and its namespace's.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct SchedulePath {
    /// The schedule.
    pub id: Uuid,
    /// The namespace's name.
    pub namespace: String,
    /// The schedule's name.
    pub name: String,
}

/// The schedules with these namespaces and names that are not deleted.
pub async fn by_paths(
    store: &Store,
    paths: &[(&str, &str)],
) -> Result<Vec<SchedulePath>, StoreError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let rows = BulkValues::default()
        .text("namespace", paths.iter().map(|(namespace, _)| (*namespace).to_owned()))
        .text("name", paths.iter().map(|(_, name)| (*name).to_owned()));
    let sql = "SELECT s.id, n.name AS namespace, s.name FROM v \
         JOIN namespace n ON n.name = v.namespace \
         JOIN schedule s ON s.namespace_id = n.id AND lower(s.name) = lower(v.name) \
           AND s.name = v.name AND s.deleted_at IS NULL";
    let statement = rows.statement(store.dialect(), sql, vec![]);
    Ok(SchedulePath::find_by_statement(statement).all(store.read()).await?)
}

/// A schedule with its own retention.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct OwnRetention {
    /// The schedule.
    pub id: Uuid,
    /// The schedule's name.
    pub name: String,
    /// The number of days for which settled history is kept.
    pub retention_days: i32,
}

/// Schedules that have their own retention and are not deleted, sorted by name.
pub async fn with_own_retention<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    most: u64,
) -> Result<Vec<OwnRetention>, StoreError> {
    let query = Entity::find()
        .select_only()
        .columns([Column::Id, Column::Name, Column::RetentionDays])
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::DeletedAt.is_null())
        .filter(Column::RetentionDays.is_not_null())
        .order_by_asc(Column::Name)
        .limit(most);
    Ok(query.into_model::<OwnRetention>().all(connection).await?)
}
