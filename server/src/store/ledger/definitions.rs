//! The definitions of workflow versions, which runs keep until they end.

use entity::workflow_version;
use sea_orm::{ConnectionTrait, EntityTrait};
use uuid::Uuid;

use crate::store::{Store, StoreError};

impl Store {
    /// The definition of one version, if it exists. A definition never changes.
    pub async fn definition(
        &self,
        connection: &impl ConnectionTrait,
        workflow_id: Uuid,
        version: i32,
    ) -> Result<Option<serde_json::Value>, StoreError> {
        let row =
            workflow_version::Entity::find_by_id((workflow_id, version)).one(connection).await?;
        Ok(row.map(|row| row.definition))
    }
}
