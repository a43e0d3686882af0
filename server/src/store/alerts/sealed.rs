//! Channels by the key that seals what is not shown of them. Nothing here can open it.

use entity::alert_channel::{Column, Entity, Model};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
};
use uuid::Uuid;

use crate::store::StoreError;

/// Each key that seals something, and a channel of which it does: its key and name.
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

/// Channels that another key than that one seals, after one of them, locked: at most `most`.
pub async fn lock_sealed_otherwise<C: ConnectionTrait>(
    tx: &C,
    key_id: &str,
    after: Option<Uuid>,
    most: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::KeyId.ne(key_id))
        .apply_if(after, |query, id| query.filter(Column::Id.gt(id)))
        .order_by_asc(Column::Id)
        .limit(most)
        .lock_exclusive();
    Ok(query.all(tx).await?)
}
