//! Alert rules: which events are reported to which channels.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One rule.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert_rule")]
pub struct Model {
    /// The rule's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The rule's namespace.
    pub namespace_id: Uuid,
    /// The rule's name, unique in the namespace.
    pub name: String,
    /// The events that the rule reports, when it sends messages, and to which channels.
    #[sea_orm(column_type = "JsonBinary")]
    pub definition: Json,
    /// Whether the rule is enabled.
    pub enabled: bool,
    /// When the rule was created or last enabled: it ignores earlier events.
    pub since: Timestamp,
    /// The end of the rule's muting: the rule sends nothing before this time.
    pub muted_until: Option<Timestamp>,
    /// The user or token that muted the rule.
    pub muted_by: Option<String>,
    /// Why the rule was muted.
    pub muted_reason: Option<String>,
    /// The rule's version, counted from 1. Muting does not change it.
    pub version: i32,
    /// The module that declares the rule; null if a person created it.
    pub module: Option<String>,
    /// When the rule was created.
    pub created_at: Timestamp,
    /// When the rule last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
