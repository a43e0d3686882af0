//! A calendar's state before a change. Rows never change.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, calendar::Mode};

/// A former version of a calendar.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar_version")]
pub struct Model {
    /// The calendar that was changed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub calendar_id: Uuid,
    /// The version number of the calendar before the change.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The calendar's mode before the change.
    pub mode: Mode,
    /// The calendar's definition before the change.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// When the next version replaced this one.
    pub ended_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
