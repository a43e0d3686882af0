//! A feed that a program reads with a secret URL: a calendar of upcoming runs, or a badge.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The content that the feed's URL returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum Kind {
    /// Upcoming runs in iCalendar format.
    #[default]
    Calendar,
    /// The results of the last runs, as an image.
    Badge,
}

/// One feed. Only the hash of its key is stored: the API shows the URL once, when it is created.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar_feed")]
pub struct Model {
    /// The feed's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The feed's owner.
    /// The feed shows nothing that the owner may not see, and is deleted with the owner.
    pub user_id: Uuid,
    /// The feed's name, for display: unique among its owner's feeds.
    pub name: String,
    /// The SHA-256 hash of the key in the feed's URL, in hex.
    #[sea_orm(unique)]
    pub hash: String,
    /// The content that the feed's URL returns.
    pub kind: Kind,
    /// The namespace whose schedules the feed shows.
    pub namespace_id: Uuid,
    /// The only schedule that the feed shows, if set.
    pub schedule_id: Option<Uuid>,
    /// The search that selects the feed's schedules, if set.
    pub search: Option<String>,
    /// When the feed was created.
    pub created_at: Timestamp,
    /// When the feed was last read, to the minute.
    pub used_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
