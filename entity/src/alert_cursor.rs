//! How far what happens has been looked at for alerts.

use sea_orm::entity::prelude::*;

/// One feed.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert_cursor")]
pub struct Model {
    /// Its name.
    #[sea_orm(primary_key, auto_increment = false)]
    pub feed: String,
    /// The stamp, or instant, up to which it was read.
    pub changed: i64,
    /// The last row with it that was read.
    pub key: Uuid,
}

impl ActiveModelBehavior for ActiveModel {}
