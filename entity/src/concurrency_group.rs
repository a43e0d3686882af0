//! A limit on the number of running runs, shared by the schedules that refer to the group.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One concurrency group.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "concurrency_group")]
pub struct Model {
    /// The group's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The group's namespace.
    pub namespace_id: Uuid,
    /// The group's name, unique in the namespace.
    pub name: String,
    /// Maximum number of the group's runs that may be running at once.
    pub max_runs: i32,
    /// How many times the group has been changed.
    pub version: i32,
    /// The module that declares the group; null if a person created it.
    pub module: Option<String>,
    /// When the group was created.
    pub created_at: Timestamp,
    /// When the group last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
