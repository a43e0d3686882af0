//! A feed that a program reads by its secret URL alone: a calendar of upcoming runs, or a badge.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The content at its URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum Kind {
    /// Upcoming runs, as iCalendar.
    #[default]
    Calendar,
    /// The results of the last runs, as a picture.
    Badge,
}

/// One feed. Only the hash of its key is stored: its URL was shown once.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar_feed")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The feed's owner: the feed shows nothing that the owner may not see, and ends with the
    /// owner.
    pub user_id: Uuid,
    /// Unique among its owner's feeds; for people.
    pub name: String,
    /// SHA-256 of the key in its URL, in hex.
    #[sea_orm(unique)]
    pub hash: String,
    /// The content at its URL.
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
