//! One definition of a workflow. Never changed once written: a run keeps the one it started with.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One definition.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "workflow_version")]
pub struct Model {
    /// The workflow.
    #[sea_orm(primary_key, auto_increment = false)]
    pub workflow_id: Uuid,
    /// Counts from 1.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The tasks, as the engine's `Definition` in JSON.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
