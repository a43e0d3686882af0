//! The history of the definitions of schedules.

use entity::schedule_version::{ActiveModel, Column, Entity, Model};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryTrait};
use uuid::Uuid;

use crate::store::{Page, PageWindow, StoreError, db::page::page_descending};

/// Adds a definition to the history.
pub async fn insert_version<C: ConnectionTrait>(
    tx: &C,
    row: ActiveModel,
) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// A single definition from the history.
pub async fn version<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    version: i32,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id((id, version)).one(connection).await?)
}

/// Some definitions from the history, in no particular order.
pub async fn versions_of<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    versions: &[i32],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::ScheduleId.eq(id))
        .filter(Column::Version.is_in(versions.iter().copied()));
    Ok(query.all(connection).await?)
}

/// A page of a schedule's history, newest first: of all versions, or of those up to `up_to`. The
/// key of a row is the version.
pub async fn versions<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    up_to: Option<i32>,
    window: &PageWindow<i32>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(Column::ScheduleId.eq(id))
        .apply_if(up_to, |list, version| list.filter(Column::Version.lte(version)));
    page_descending(connection, list, Column::Version, window).await
}
