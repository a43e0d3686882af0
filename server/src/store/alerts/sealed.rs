//! Finds channels by the key that encrypts their secrets. This module cannot decrypt them.

use entity::alert_channel::{Column, Entity, Model};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use crate::store::{StoreError, db::lookups::lookups};

lookups!("channel", removed: lock_sealed_otherwise);

/// Each encryption key in use, with the key and the name of one channel that it encrypts.
pub async fn samples<C: ConnectionTrait>(
    connection: &C,
) -> Result<Vec<(String, Uuid, String)>, StoreError> {
    let query = Entity::find().filter(Column::KeyId.is_not_null()).order_by_asc(Column::Name);
    let mut samples: Vec<(String, Uuid, String)> = Vec::new();
    for row in query.all(connection).await? {
        let Some(key_id) = row.key_id else { continue };
        if samples.iter().all(|(known, ..)| *known != key_id) {
            samples.push((key_id, row.id, row.name));
        }
    }
    Ok(samples)
}
