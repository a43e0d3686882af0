//! Who is told of what.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One rule.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert_rule")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// Unique among the namespace's rules.
    pub name: String,
    /// What it looks for, when it tells and whom.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// Whether it does anything.
    pub enabled: bool,
    /// What happened before is none of its business: when it was made, or last enabled.
    pub since: Timestamp,
    /// It tells nothing before.
    pub muted_until: Option<Timestamp>,
    /// Who muted it.
    pub muted_by: Option<String>,
    /// Why.
    pub muted_reason: Option<String>,
    /// Counts the changes from 1; muting is none.
    pub version: i32,
    /// The module that declares it; null when a person made it.
    pub module: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
