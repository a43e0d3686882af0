//! Budgets of health: what the schedules with a tag may lose, fail or delay.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The budget of a tag in a namespace. A tag without a budget has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "health_budget")]
pub struct Model {
    /// The budget's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The budget's namespace.
    pub namespace_id: Uuid,
    /// The tag, unique in the namespace.
    pub tag: String,
    /// Maximum number of missed fires in the span; null uses the server's configuration.
    pub missed: Option<i64>,
    /// Maximum number of failed runs in the span; null uses the server's configuration.
    pub failed: Option<i64>,
    /// Maximum number of stalled runs; null uses the server's configuration.
    pub stalled: Option<i64>,
    /// Maximum 99th percentile of the fires' lateness in the span; null for no limit.
    pub late_ms: Option<i64>,
    /// The length of the span that is judged, up to now.
    pub span_ms: i64,
    /// The module that declares the budget; null if a person set it.
    pub module: Option<String>,
    /// The user or token that last changed the budget.
    pub updated_by: String,
    /// When the budget was last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
