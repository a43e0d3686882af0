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
    /// The tenant, if it concerns one.
    pub namespace_id: Option<Uuid>,
    /// When.
    pub at: Timestamp,
    /// Who: a user's name, a token's name, `system`.
    pub actor: String,
    /// From where: an address, `cli`.
    pub source: String,
    /// What was done: `schedule.pause`.
    pub action: String,
    /// The key of what it was done to.
    pub subject_id: Option<Uuid>,
    /// Its name.
    pub subject: String,
    /// Why, in the actor's words.
    pub reason: Option<String>,
    /// How it was, without secrets.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub before: Option<Json>,
    /// How it is, without secrets.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub after: Option<Json>,
}

impl ActiveModelBehavior for ActiveModel {}
