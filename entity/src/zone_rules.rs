//! The release of the zone data from which the schedules' cursors were computed.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The table's only row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "zone_rules")]
pub struct Model {
    /// The row's key, always 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i32,
    /// The release of the zone data by which the nodes schedule.
    pub zone_data: String,
    /// When all cursors had been recomputed with this release; null until then.
    pub checked_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
