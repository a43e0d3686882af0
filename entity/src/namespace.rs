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
    /// When the namespace was deleted: from then on it is hidden, and can be restored for a week.
    pub deleted_at: Option<Timestamp>,
    /// The user or token that deleted the namespace.
    pub deleted_by: Option<String>,
    /// The namespace's name before it was deleted. Another namespace may have it by now.
    pub deleted_name: Option<String>,
    /// When the last of what was in the deleted namespace was removed. The row stays for the audit
    /// log.
    pub purged_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
