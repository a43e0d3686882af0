//! A namespace: an isolated set of schedules, workflows, runs, tokens and users.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One namespace.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "namespace")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// Unique.
    #[sea_orm(unique)]
    pub name: String,
    /// How many days the namespace's settled history is kept; null for the server's setting.
    pub retention_days: Option<i32>,
    /// The namespace's quotas that differ from the configured ones; null if there are none.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub quotas: Option<Json>,
    /// When the namespace was created.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
