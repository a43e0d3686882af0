//! A calendar's state before a change. Never changed once written.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, calendar::Mode};

/// A former version of a calendar.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar_version")]
pub struct Model {
    /// The calendar.
    #[sea_orm(primary_key, auto_increment = false)]
    pub calendar_id: Uuid,
    /// The calendar's version number at that time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// Its mode at that time.
    pub mode: Mode,
    /// Its definition at that time.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// When the next version replaced it.
    pub ended_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
