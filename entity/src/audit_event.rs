//! The audit log: who changed what, when, from where and why.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One recorded change.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_event")]
pub struct Model {
    /// The event's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace that the change concerns, if any.
    pub namespace_id: Option<Uuid>,
    /// When the change was made.
    pub at: Timestamp,
    /// The author of the change: the name of a user or token, or `system`.
    pub actor: String,
    /// The origin of the change: an address, or `cli`.
    pub source: String,
    /// The action, such as `schedule.pause`.
    pub action: String,
    /// The key of the object that was changed.
    pub subject_id: Option<Uuid>,
    /// The name of the object that was changed.
    pub subject: String,
    /// The reason, in the words of the person who made the change.
    pub reason: Option<String>,
    /// The object's state before the change, without secrets.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub before: Option<Json>,
    /// The object's state after the change, without secrets.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub after: Option<Json>,
}

impl ActiveModelBehavior for ActiveModel {}
