//! The amount of history in each namespace, for its quotas.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The history of a period of ten minutes. A period without history has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "history_stat")]
pub struct Model {
    /// The namespace to which the history belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// The start of the period.
    #[sea_orm(primary_key, auto_increment = false)]
    pub period: Timestamp,
    /// The schedules' own retention in days; 0 for schedules without one.
    #[sea_orm(primary_key, auto_increment = false)]
    pub days: i32,
    /// Number of rows.
    /// Fires count when they are claimed, runs and their attempts when the run settles.
    pub row_count: i64,
    /// Size of the log lines that were written, in bytes.
    pub log_bytes: i64,
}

impl ActiveModelBehavior for ActiveModel {}
