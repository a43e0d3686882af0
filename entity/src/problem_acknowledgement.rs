//! Problems of schedules that a user has acknowledged.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One acknowledged problem.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "problem_acknowledgement")]
pub struct Model {
    /// A hash of the schedule and what its failures have in common,
    /// so it stays the same for the same problem.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The schedule that has the problem.
    pub schedule_id: Uuid,
    /// The last failed run when the problem was acknowledged; null if fires were lost.
    pub last_run_id: Option<Uuid>,
    /// When the problem had last occurred before it was acknowledged.
    pub last_at: Timestamp,
    /// When the problem was acknowledged.
    pub acknowledged_at: Timestamp,
    /// The user or token that acknowledged the problem.
    pub acknowledged_by: String,
    /// The note of the user who acknowledged the problem.
    pub acknowledged_note: Option<String>,
    /// When the acknowledgement ends; null if it lasts until the problem is over.
    pub acknowledged_until: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
