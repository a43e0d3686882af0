//! Rows of one column, for statements that select nothing else.

use entity::Timestamp;
use sea_orm::FromQueryResult;
use uuid::Uuid;

/// A key, selected as `id`.
#[derive(FromQueryResult)]
pub(in crate::store) struct KeyRow {
    pub(in crate::store) id: Uuid,
}

/// An instant, selected as `at`.
#[derive(FromQueryResult)]
pub(in crate::store) struct InstantRow {
    pub(in crate::store) at: Timestamp,
}

/// A number of rows, selected as `found`.
#[derive(FromQueryResult)]
pub(in crate::store) struct RowCount {
    pub(in crate::store) found: i64,
}
