//! Workflows and the immutable versions of their definitions.

use std::collections::HashSet;

use entity::{
    Timestamp, audit_event, schedule,
    workflow::{ActiveModel, Column, Entity, Model},
    workflow_version,
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, PaginatorTrait,
    QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    sea_query::{Expr, ExprTrait},
};
use uuid::Uuid;

use super::many::{self, InsertOptions, NewObjects};
use crate::store::{
    Dialect, Page, PageWindow, Store, StoreError,
    db::{
        lookups::lookups,
        names::name_contains,
        page::{page_by_name, page_descending},
        within::Within,
    },
};

lookups!("workflow", kept: by_name, by_ids, of_module, lock);

/// The workflows in a namespace that are not deleted, sorted by name: up to `most`.
pub async fn all<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    most: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::DeletedAt.is_null())
        .order_by_asc(Column::Name)
        .limit(most);
    Ok(query.all(connection).await?)
}

/// Number of schedules that run the workflow and are not deleted, without `except`.
pub async fn users<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    except: Option<Uuid>,
) -> Result<u64, StoreError> {
    let mut query = schedule::Entity::find()
        .filter(schedule::Column::WorkflowId.eq(id))
        .filter(schedule::Column::DeletedAt.is_null());
    if let Some(except) = except {
        query = query.filter(schedule::Column::Id.ne(except));
    }
    Ok(query.count(connection).await?)
}

/// The definitions of these versions, in no particular order.
pub async fn versions<C: ConnectionTrait>(
    connection: &C,
    keys: &[(Uuid, i32)],
) -> Result<Vec<workflow_version::Model>, StoreError> {
    use workflow_version::{Column, Entity};
    let mut wanted = Condition::any();
    for (id, version) in keys {
        wanted = wanted.add(Column::WorkflowId.eq(*id).and(Column::Version.eq(*version)));
    }
    Ok(Entity::find().filter(wanted).all(connection).await?)
}

/// The definition of one version.
pub async fn version<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    version: i32,
) -> Result<Option<workflow_version::Model>, StoreError> {
    Ok(workflow_version::Entity::find_by_id((id, version)).one(connection).await?)
}

/// A page of the workflows that are not deleted, sorted by case-insensitive name, then by key. With
/// `text`, only those whose names contain it, ignoring case.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    within: &Within,
    text: Option<&str>,
    window: &PageWindow<(String, Uuid)>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(Column::DeletedAt.is_null())
        .apply_if(text, |query, text| query.filter(name_contains(Column::Name, text)));
    page_by_name(connection, list, Column::Name, Column::Id, window).await
}

/// A page of a workflow's definitions, newest first: of all versions, or of those up to `up_to`.
/// The key of a row is the version.
pub async fn history<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    up_to: Option<i32>,
    window: &PageWindow<i32>,
) -> Result<Page<workflow_version::Model>, StoreError> {
    use workflow_version::{Column, Entity};
    let list = Entity::find()
        .filter(Column::WorkflowId.eq(id))
        .apply_if(up_to, |list, version| list.filter(Column::Version.lte(version)));
    page_descending(connection, list, Column::Version, window).await
}

/// The conflict clause for the index `workflow_name`.
const IF_NAME_FREE: &str =
    "ON CONFLICT (namespace_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING id";

/// New workflows, their first definitions, and their audit log entries.
pub type NewWorkflowRows =
    (Vec<ActiveModel>, Vec<workflow_version::ActiveModel>, Vec<audit_event::ActiveModel>);

/// Adds the workflows whose names are free. Returns the keys of those.
pub async fn insert_if_names_free<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    rows: NewWorkflowRows,
) -> Result<HashSet<Uuid>, StoreError> {
    let manner = InsertOptions { tail: IF_NAME_FREE, ..InsertOptions::default() };
    let things = NewObjects { rows, keys: ("workflow_id", "subject_id"), told: None };
    many::written(tx, things.insert(dialect, manner)?).await
}

/// A namespace, and the workflow that was looked for in it.
#[derive(Clone, Debug, FromQueryResult)]
pub struct NamespaceWorkflow {
    /// The key of the namespace.
    pub namespace_id: Uuid,
    /// The key of the workflow; `None` if the namespace has no workflow with that name.
    pub workflow_id: Option<Uuid>,
    /// The current version of the workflow.
    pub version: Option<i32>,
}

/// The namespace with one name, and its workflow with the other name.
pub async fn place(
    store: &Store,
    namespace: &str,
    workflow: &str,
) -> Result<Option<NamespaceWorkflow>, StoreError> {
    let sql = "SELECT n.id AS namespace_id, w.id AS workflow_id, w.version FROM namespace n \
         LEFT JOIN workflow w ON w.namespace_id = n.id AND w.name = $2 AND w.deleted_at IS NULL \
         WHERE n.name = $1";
    let statement = store.dialect().statement(sql, [namespace.into(), workflow.into()]);
    Ok(NamespaceWorkflow::find_by_statement(statement).one(store.rounds()).await?)
}

/// Those of `names` that belong to workflows that are not deleted.
pub async fn taken_names<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    names: &[&str],
) -> Result<HashSet<String>, StoreError> {
    if names.is_empty() {
        return Ok(HashSet::new());
    }
    let query = Entity::find()
        .select_only()
        .column(Column::Name)
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Name.is_in(names.iter().copied()))
        .filter(Column::DeletedAt.is_null());
    let names: Vec<String> = query.into_tuple().all(connection).await?;
    Ok(names.into_iter().collect())
}

/// Makes `version` the current version of the workflow.
pub async fn supersede<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    number: i32,
    at: Timestamp,
    version: workflow_version::ActiveModel,
) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::Version, Expr::value(number))
        .col_expr(Column::UpdatedAt, Expr::value(at))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    insert_version(tx, version).await
}

/// Renames the workflow.
/// Fails with [`crate::store::Constraint::WorkflowName`] if the name is taken.
pub async fn rename<C: ConnectionTrait>(tx: &C, id: Uuid, name: &str) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::Name, Expr::value(name))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// Restores a deleted workflow under this name.
/// Fails with [`crate::store::Constraint::WorkflowName`] if the name is taken.
pub async fn undelete<C: ConnectionTrait>(tx: &C, id: Uuid, name: &str) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::Name, Expr::value(name))
        .col_expr(Column::DeletedAt, Expr::value(None::<Timestamp>))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// Marks the workflow as deleted.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid, at: Timestamp) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::DeletedAt, Expr::value(at))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

async fn insert_version<C: ConnectionTrait>(
    tx: &C,
    version: workflow_version::ActiveModel,
) -> Result<(), StoreError> {
    workflow_version::Entity::insert(version).exec_without_returning(tx).await?;
    Ok(())
}
