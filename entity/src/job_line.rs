//! A line that a worker has printed and that has not reached the attempt's log yet.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One line.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job_line")]
pub struct Model {
    /// The job.
    #[sea_orm(primary_key, auto_increment = false)]
    pub job_id: Uuid,
    /// The line's number, from 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: i64,
    /// When the line arrived.
    pub at: Timestamp,
    /// Whether the line was printed to standard error.
    pub is_error: bool,
    /// The text.
    pub text: String,
}

impl ActiveModelBehavior for ActiveModel {}
