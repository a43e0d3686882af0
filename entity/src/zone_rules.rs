//! The zone data by which the cursors were computed.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The only row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "zone_rules")]
pub struct Model {
    /// Always 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i32,
    /// The release of the zone data that the nodes schedule by.
    pub zone_data: String,
    /// When all cursors had been computed with it; null until then.
    pub checked_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
