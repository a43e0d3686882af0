//! How far events have been read for alerts.

use sea_orm::entity::prelude::*;

/// The cursor of one feed.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert_cursor")]
pub struct Model {
    /// The feed's name.
    #[sea_orm(primary_key, auto_increment = false)]
    pub feed: String,
    /// The change stamp or instant up to which the feed was read.
    pub changed: i64,
    /// The last row with that stamp that was read.
    pub key: Uuid,
}

impl ActiveModelBehavior for ActiveModel {}
