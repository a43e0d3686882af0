//! Calendars: named sets of local times that suppress fires of the schedules that refer to them.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Whether a calendar suppresses fires inside or outside of its entries.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The calendar suppresses fires inside its entries.
    Exclude,
    /// The calendar suppresses fires outside its entries.
    Only,
}

/// One calendar.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar")]
pub struct Model {
    /// The calendar's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The calendar's namespace.
    pub namespace_id: Uuid,
    /// The calendar's name, unique among those in the namespace that are not deleted.
    pub name: String,
    /// Which fires the calendar suppresses. See [`Mode`].
    pub mode: Mode,
    /// The calendar's dates, weekdays, ranges and windows.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// The calendar's version, counted from 1.
    pub version: i32,
    /// The module that declares the calendar; null if a person created it.
    pub module: Option<String>,
    /// When the calendar was created.
    pub created_at: Timestamp,
    /// When the calendar last changed.
    pub updated_at: Timestamp,
    /// When the calendar was deleted.
    pub deleted_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
