//! A value that tasks may use and nobody can read.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One secret of a namespace, sealed with a key that is not in the database.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "secret")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// Its namespace.
    pub namespace_id: Uuid,
    /// Unique within the namespace.
    pub name: String,
    /// Which key opens it.
    pub key_id: String,
    /// Nonce and ciphertext in base64.
    pub sealed: String,
    /// Counts the values from 1.
    pub version: i32,
    /// Who set the value.
    pub set_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the value was set.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
