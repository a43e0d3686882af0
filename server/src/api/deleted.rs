//! Deleted schedules that can be restored.

use async_graphql::SimpleObject;
use entity::{Timestamp, schedule::Model};
use uuid::Uuid;

use super::scalar::Instant;
use crate::store::retention::DELETED_DAYS;

/// A schedule that was deleted. Until it is purged, `undeleteSchedule` restores it.
#[derive(SimpleObject)]
pub(crate) struct DeletedSchedule {
    id: Uuid,
    /// Its name before the deletion. Another schedule may have the name by now.
    name: String,
    /// The schedule's note.
    note: String,
    /// The tags that it had.
    tags: Vec<String>,
    /// The last version before the deletion.
    version: i32,
    deleted_at: Instant,
    /// It is purged some time after this instant.
    kept_until: Instant,
    /// The module that declared it. Only deploying that module restores the schedule.
    module: Option<String>,
}

impl From<Model> for DeletedSchedule {
    fn from(row: Model) -> Self {
        let deleted_at = row.deleted_at.unwrap_or(row.updated_at);
        Self {
            id: row.id,
            name: row.name,
            note: row.note,
            tags: row.tags.0,
            version: row.version,
            deleted_at: deleted_at.into(),
            kept_until: Timestamp(deleted_at.0 + i64::from(DELETED_DAYS) * DAY_MS).into(),
            module: row.module,
        }
    }
}

const DAY_MS: i64 = 86_400_000;

/// The cursor of a row in the list.
pub(crate) fn cursor(row: &Model) -> String {
    format!("{}:{}", row.deleted_at.unwrap_or(row.updated_at).0, row.id)
}

/// Reads such a cursor.
pub(crate) fn key(text: &str) -> Option<(Timestamp, Uuid)> {
    let (at, id) = text.split_once(':')?;
    Some((Timestamp(at.parse().ok()?), Uuid::try_parse(id).ok()?))
}
