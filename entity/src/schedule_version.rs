//! The history of a schedule's definition: who changed what, when.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One version of a definition.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "schedule_version")]
pub struct Model {
    /// The schedule.
    #[sea_orm(primary_key, auto_increment = false)]
    pub schedule_id: Uuid,
    /// The version number, from 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The whole definition.
    #[sea_orm(column_type = "JsonBinary")]
    pub snapshot: Json,
    /// What changed, for people.
    pub change: String,
    /// The user or token that made the change.
    pub changed_by: String,
    /// When the schedule was changed to this version.
    pub changed_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
