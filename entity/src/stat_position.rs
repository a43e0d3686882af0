//! The position up to which the change feed has been counted into the statistics. On SQLite, also
//! the greatest stamps of removed alerts, backfills and fires, because later stamps are greater.

use sea_orm::entity::prelude::*;

/// The position in the change feed of one table.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "stat_position")]
pub struct Model {
    /// The name of the table.
    #[sea_orm(primary_key, auto_increment = false)]
    pub feed: String,
    /// The stamp of the last row that was counted.
    pub changed: i64,
    /// The key of the last row that was counted, among rows with that stamp.
    pub id: Uuid,
}

impl ActiveModelBehavior for ActiveModel {}
