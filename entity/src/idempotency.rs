//! The answers to mutations that carried a key, so that a repeated call returns the stored answer
//! instead of executing again.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One answered call.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency")]
pub struct Model {
    /// The caller.
    #[sea_orm(primary_key, auto_increment = false)]
    pub actor: String,
    /// The caller's key.
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
