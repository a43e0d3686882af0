//! Problems of schedules that a person has acknowledged.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One acknowledged problem.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "problem_acknowledgement")]
pub struct Model {
    /// Derived from the schedule and what its failures have in common: the same for the same
    /// problem.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The schedule.
    pub schedule_id: Uuid,
    /// The last failed run at that time; null if fires were lost.
    pub last_run_id: Option<Uuid>,
    /// When the problem had last occurred at that time.
    pub last_at: Timestamp,
    /// When it was acknowledged.
    pub acknowledged_at: Timestamp,
    /// Who acknowledged it.
    pub acknowledged_by: String,
    /// What they noted.
    pub acknowledged_note: Option<String>,
    /// When the acknowledgement ends; null if it lasts until the problem is over.
    pub acknowledged_until: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
