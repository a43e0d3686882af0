//! A token with which a program authenticates.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp, user::Role};

/// One token. Only its hash is stored: the API shows a token once, when it is created.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "api_token")]
pub struct Model {
    /// The token's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The token's name, for display: unique among the
    /// owner's tokens, or among those without an owner.
    pub name: String,
    /// The SHA-256 hash of the token, in hex.
    #[sea_orm(unique)]
    pub hash: String,
    /// The user for whom the token acts: it can never do more than that user, and is deleted with
    /// the user. Null for a token that was created with direct access to the database.
    pub user_id: Option<Uuid>,
    /// The only namespace to which the token gives access; `None` for all that its owner may see.
    pub namespace_id: Option<Uuid>,
    /// The queues from which a worker may pull with this token.
    /// A token that has queues gives access to nothing else.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub queues: Option<Strings>,
    /// The token's role. See [`Role`].
    pub role: Role,
    /// Whether the token may see contexts, outputs and logs.
    pub sees_payloads: bool,
    /// The user or token that created the token.
    pub created_by: String,
    /// When the token was created.
    pub created_at: Timestamp,
    /// When the token expires.
    pub expires_at: Option<Timestamp>,
    /// When the token was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When the token was last used, to the minute.
    pub used_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
