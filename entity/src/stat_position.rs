//! How far the change feed has been counted into the roll-ups.

use sea_orm::entity::prelude::*;

/// A position in the feed of a table.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "stat_position")]
pub struct Model {
    /// The table.
    #[sea_orm(primary_key, auto_increment = false)]
    pub feed: String,
    /// Counting continues after this stamp ...
    pub changed: i64,
    /// ... and, among rows with this stamp, after this key.
    pub id: Uuid,
}

impl ActiveModelBehavior for ActiveModel {}
