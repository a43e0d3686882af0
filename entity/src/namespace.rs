//! A namespace: an isolated set of schedules, workflows, runs, tokens and users.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One namespace.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "namespace")]
pub struct Model {
    /// The namespace's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace's name, which is unique.
    #[sea_orm(unique)]
    pub name: String,
    /// How many days settled history is kept; null if the server's setting applies.
    pub retention_days: Option<i32>,
    /// The namespace's own quotas, which replace the configured ones; null if it has none.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub quotas: Option<Json>,
    /// When the namespace was created.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
