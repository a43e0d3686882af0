//! A workflow: a named, versioned set of tasks. The definitions are in `workflow_version`.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The current state of a workflow's name.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "workflow")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// Unique among the namespace's workflows that are not deleted.
    pub name: String,
    /// The version that new runs start with.
    pub version: i32,
    /// The module that declares it; null if a person created it.
    pub module: Option<String>,
    /// When the workflow was created.
    pub created_at: Timestamp,
    /// When the current version was created.
    pub updated_at: Timestamp,
    /// Set when it was deleted.
    pub deleted_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
