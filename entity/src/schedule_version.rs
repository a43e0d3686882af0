//! The history of a schedule's definition: who changed what, when.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One version of a schedule's definition.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "schedule_version")]
pub struct Model {
    /// The schedule to which the version belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub schedule_id: Uuid,
    /// The version number, counted from 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The whole definition of this version.
    #[sea_orm(column_type = "JsonBinary")]
    pub snapshot: Json,
    /// A description of the change, for display.
    pub change: String,
    /// The user or token that made the change.
    pub changed_by: String,
    /// When this version replaced the previous one.
    pub changed_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
