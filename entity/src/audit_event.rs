//! Who changed what, when, from where and why.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One change.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_event")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace that the change concerns, if any.
    pub namespace_id: Option<Uuid>,
    /// When the change was made.
    pub at: Timestamp,
    /// Who made the change: a user's name, a token's name, `system`.
    pub actor: String,
    /// Where the change came from: an address, `cli`.
    pub source: String,
    /// The action, such as `schedule.pause`.
    pub action: String,
    /// The key of the object that was changed.
    pub subject_id: Option<Uuid>,
    /// The object's name.
    pub subject: String,
    /// The reason, in the words of the person who made the change.
    pub reason: Option<String>,
    /// The state before the change, without secrets.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub before: Option<Json>,
    /// The state after the change, without secrets.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub after: Option<Json>,
}

impl ActiveModelBehavior for ActiveModel {}
