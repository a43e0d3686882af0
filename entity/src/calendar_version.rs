//! What a calendar was before a change. Never changed once written.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, calendar::Mode};

/// What a calendar was.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar_version")]
pub struct Model {
    /// The calendar.
    #[sea_orm(primary_key, auto_increment = false)]
    pub calendar_id: Uuid,
    /// As it counted then.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// What it did to fires.
    pub mode: Mode,
    /// What it named.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// When the next version took its place.
    pub ended_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
