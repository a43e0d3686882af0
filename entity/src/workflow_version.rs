//! One version of a workflow's definition.
//! Rows never change: a run keeps the version with which it started.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One version of a workflow's definition.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "workflow_version")]
pub struct Model {
    /// The workflow to which the version belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub workflow_id: Uuid,
    /// The version number, counted from 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The tasks, as the engine's `Definition` in JSON.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// The user or token that created the version.
    pub created_by: String,
    /// When the version was created.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
