//! A tenant: an isolated world of schedules, workflows, runs, tokens and people.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One tenant.
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
    /// How many days its settled history is kept; as the server is configured without.
    pub retention_days: Option<i32>,
    /// The quotas that differ from those of the configuration; null for none.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub quotas: Option<Json>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
