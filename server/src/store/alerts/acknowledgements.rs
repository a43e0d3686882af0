//! Problems of schedules that a person has acknowledged.

use entity::problem_acknowledgement::{Column, Entity, Model};
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel, Iterable, sea_query::OnConflict};

use crate::store::{StoreError, db::lookups::lookups};

lookups!("acknowledgement", removed: by_ids, delete);

/// Adds an acknowledgement, or replaces an earlier one of the same problem.
pub async fn put<C: ConnectionTrait>(tx: &C, row: Model) -> Result<(), StoreError> {
    let again = OnConflict::column(Column::Id).update_columns(Column::iter()).to_owned();
    Entity::insert(row.into_active_model()).on_conflict(again).exec_without_returning(tx).await?;
    Ok(())
}
