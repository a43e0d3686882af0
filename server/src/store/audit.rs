//! The audit log. Only ever written to.

use entity::audit_event::{ActiveModel, Entity};
use sea_orm::{ConnectionTrait, EntityTrait};

use super::{
    Dialect, StoreError,
    many::{self, Manner},
};

/// Adds entries.
pub async fn insert_all<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    rows: Vec<ActiveModel>,
) -> Result<(), StoreError> {
    many::execute(tx, many::insert(dialect, rows, Manner::default())?).await
}

/// Adds an entry.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}
