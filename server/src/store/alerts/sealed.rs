//! Finds channels by the key that encrypts their secrets. This module cannot decrypt them.

use entity::alert_channel::{Column, Entity, Model};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use crate::store::{StoreError, db::lookups::lookups};

lookups!("channel", removed: lock_sealed_otherwise);

/// A channel whose secrets are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedChannel {
    /// The id of the encryption key.
    pub key_id: String,
    /// The channel.
    pub id: Uuid,
    /// The channel's name.
    pub name: String,
}

/// One channel for each encryption key in use.
pub async fn samples<C: ConnectionTrait>(connection: &C) -> Result<Vec<SealedChannel>, StoreError> {
    let query = Entity::find().filter(Column::KeyId.is_not_null()).order_by_asc(Column::Name);
    let mut samples: Vec<SealedChannel> = Vec::new();
    for row in query.all(connection).await? {
        let Some(key_id) = row.key_id else { continue };
        if samples.iter().all(|known| known.key_id != key_id) {
            samples.push(SealedChannel { key_id, id: row.id, name: row.name });
        }
    }
    Ok(samples)
}
