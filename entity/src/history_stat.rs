//! How much history a namespace has, for its quotas.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The history of ten minutes; a period without any has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "history_stat")]
pub struct Model {
    /// The namespace.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// The start of the ten minutes.
    #[sea_orm(primary_key, auto_increment = false)]
    pub period: Timestamp,
    /// How many days it is kept, if its schedules had a retention of their own; 0 if not.
    #[sea_orm(primary_key, auto_increment = false)]
    pub days: i32,
    /// Fires by when they were claimed; runs and their attempts by when the run settled.
    pub row_count: i64,
    /// The bytes of the log lines that were written.
    pub log_bytes: i64,
}

impl ActiveModelBehavior for ActiveModel {}
