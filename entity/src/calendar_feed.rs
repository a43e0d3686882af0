//! What a program reads by its address alone: a calendar of upcoming runs, or a badge.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What stands at its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum Kind {
    /// Upcoming runs, as iCalendar.
    #[default]
    Calendar,
    /// How the last runs went, as a picture.
    Badge,
}

/// One feed. Only the hash of its key is kept: its address was shown once.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar_feed")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// Who made it: it shows nothing that they may not see, and ends with them.
    pub user_id: Uuid,
    /// Unique among those of its owner; for people.
    pub name: String,
    /// SHA-256 of the key in its address, in hex.
    #[sea_orm(unique)]
    pub hash: String,
    /// What stands at its address.
    pub kind: Kind,
    /// Whose schedules it shows.
    pub namespace_id: Uuid,
    /// The only schedule that it shows.
    pub schedule_id: Option<Uuid>,
    /// It shows the schedules that this finds.
    pub search: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last use, to the minute.
    pub used_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
