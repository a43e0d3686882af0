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
    /// How many days its settled history is kept; null for the server's setting.
    pub retention_days: Option<i32>,
    /// The quotas that differ from the configured ones; null for none.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub quotas: Option<Json>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
