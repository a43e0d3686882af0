//! A workflow: a named, versioned set of tasks. The table `workflow_version` has the definitions.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The current version of a workflow.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "workflow")]
pub struct Model {
    /// The workflow's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The workflow's namespace.
    pub namespace_id: Uuid,
    /// The workflow's name, unique among those in the namespace that are not deleted.
    pub name: String,
    /// The version with which new runs start.
    pub version: i32,
    /// The module that declares the workflow; null if a person created it.
    pub module: Option<String>,
    /// When the workflow was created.
    pub created_at: Timestamp,
    /// When the current version was created.
    pub updated_at: Timestamp,
    /// When the workflow was deleted.
    pub deleted_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
