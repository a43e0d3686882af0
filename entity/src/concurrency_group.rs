//! A limit on how many runs are at work at once, shared by the schedules that refer to it.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One group.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "concurrency_group")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// Unique in the namespace.
    pub name: String,
    /// Maximum number of runs of the group that may be at work at once.
    pub max_runs: i32,
    /// How often the group was changed.
    pub version: i32,
    /// The module that declares it; null if a person created it.
    pub module: Option<String>,
    /// When the group was created.
    pub created_at: Timestamp,
    /// When the group last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
