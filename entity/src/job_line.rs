//! A log line that a worker has sent and that is not yet in the attempt's log.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One line of a job's log.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job_line")]
pub struct Model {
    /// The job to which the line belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub job_id: Uuid,
    /// The line's number, counted from 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: i64,
    /// When the line arrived.
    pub at: Timestamp,
    /// Whether the line was printed to standard error.
    pub is_error: bool,
    /// The text of the line.
    pub text: String,
}

impl ActiveModelBehavior for ActiveModel {}
