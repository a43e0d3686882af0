//! A value that tasks can use but no user can read.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One secret of a namespace, encrypted with a key that is not in the database.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "secret")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The secret's namespace.
    pub namespace_id: Uuid,
    /// Unique within the namespace.
    pub name: String,
    /// The key that decrypts it.
    pub key_id: String,
    /// Nonce and ciphertext in base64.
    pub sealed: String,
    /// The number of the current value, from 1.
    pub version: i32,
    /// Who set the value.
    pub set_by: String,
    /// When the secret was created.
    pub created_at: Timestamp,
    /// When the value was set.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
