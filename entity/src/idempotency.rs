//! The answers to mutations that carried an idempotency key.
//! A repeated call gets the stored answer instead of being executed again.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One answered call.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency")]
pub struct Model {
    /// The user or token that made the call.
    #[sea_orm(primary_key, auto_increment = false)]
    pub actor: String,
    /// The idempotency key that the caller chose.
    #[sea_orm(primary_key, auto_increment = false)]
    pub key: String,
    /// The mutation and a hash of its arguments: the same key with different arguments is rejected.
    pub request: String,
    /// The keys of the objects that the call created or changed.
    #[sea_orm(column_type = "JsonBinary")]
    pub answer: Json,
    /// When the call was made.
    pub at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
