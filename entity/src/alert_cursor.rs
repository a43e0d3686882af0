//! The position up to which the alert service has read each feed of events.

use sea_orm::entity::prelude::*;

/// The cursor of one feed.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert_cursor")]
pub struct Model {
    /// The name of the feed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub feed: String,
    /// The change stamp or instant up to which the feed was read.
    pub changed: i64,
    /// The key of the last row with that stamp that was read.
    pub key: Uuid,
}

impl ActiveModelBehavior for ActiveModel {}
