//! The versions of a schedule.

use async_graphql::SimpleObject;
use entity::schedule_version;

use super::scalar::Instant;
use crate::{commands::secrets, model::ledger_check::CALENDAR_KEYS, vault::MASK};

/// A version of a schedule's definition.
#[derive(SimpleObject)]
pub(crate) struct ScheduleVersion {
    /// The number of the version, from 1.
    version: i32,
    /// The name of the user or token that created it.
    by: String,
    /// When it was created.
    at: Instant,
    /// A description of the change.
    change: String,
    /// The whole definition. Values whose names suggest secrets are masked; for callers who may not
    /// see payloads, the context is masked, too.
    snapshot: serde_json::Value,
}

impl ScheduleVersion {
    /// Without its context for callers who may not see payloads.
    pub(super) fn shown(row: schedule_version::Model, with_payload: bool) -> Self {
        let mut snapshot = secrets::masked_json(&row.snapshot);
        // Only the check of the ledger needs the keys of the calendars; their names are there, too.
        if let Some(fields) = snapshot.as_object_mut() {
            fields.remove(CALENDAR_KEYS);
        }
        if let Some(context) = snapshot.get_mut("context").filter(|_| !with_payload) {
            *context = MASK.into();
        }
        Self {
            version: row.version,
            by: row.changed_by,
            at: row.changed_at.into(),
            change: row.change,
            snapshot,
        }
    }
}
