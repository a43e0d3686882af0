//! The audit log. Only ever written to.

use entity::audit_event::{ActiveModel, Entity};
use sea_orm::{ConnectionTrait, EntityTrait};

use super::StoreError;

/// Adds an entry.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}
