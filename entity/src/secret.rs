//! A value that tasks can use but no user can read.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One secret of a namespace, encrypted with a key that is not in the database.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "secret")]
pub struct Model {
    /// The secret's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The secret's namespace.
    pub namespace_id: Uuid,
    /// The secret's name, unique in the namespace.
    pub name: String,
    /// The id of the key that decrypts the value.
    pub key_id: String,
    /// The encrypted value: nonce and ciphertext in base64.
    pub sealed: String,
    /// The number of the current value, counted from 1.
    pub version: i32,
    /// The user or token that set the current value.
    pub set_by: String,
    /// When the secret was created.
    pub created_at: Timestamp,
    /// When the current value was set.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
