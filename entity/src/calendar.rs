//! Calendars: named sets of local time that suppress fires of the schedules that name them.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What a calendar does to fires.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Those inside are suppressed.
    Exclude,
    /// Those outside are.
    Only,
}

/// One calendar.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "calendar")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// Unique among the namespace's living calendars.
    pub name: String,
    /// See [`Mode`].
    pub mode: Mode,
    /// The dates, weekdays, ranges and windows that it names.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// Counts the changes from 1.
    pub version: i32,
    /// The module that declares it; null when a person made it.
    pub module: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Set when it was deleted.
    pub deleted_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
