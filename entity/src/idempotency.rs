//! The answers to mutations that carried a key, so that a repeated call is answered, not done.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One answered call.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency")]
pub struct Model {
    /// Who called.
    #[sea_orm(primary_key, auto_increment = false)]
    pub actor: String,
    /// The caller's key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub key: String,
    /// The mutation and a hash of its arguments: the same key with others is refused.
    pub request: String,
    /// What the call made or changed.
    #[sea_orm(column_type = "JsonBinary")]
    pub answer: Json,
    /// When.
    pub at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
