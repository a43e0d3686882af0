//! The lines of a run, oldest first.

use entity::task_log::{Column, Entity, Model};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use crate::store::{Page, Store, StoreError, Window};

/// A page of the run's lines. The key is the line's place.
pub async fn page(
    store: &Store,
    run: Uuid,
    window: &Window<i64>,
) -> Result<Page<Model>, StoreError> {
    let after = window.after.unwrap_or(i64::MIN);
    let list = Entity::find().filter(Column::RunId.eq(run));
    Ok(window.page(store.lines_after(run, after, window.reach()).await?).of_list(list))
}
