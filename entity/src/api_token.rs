//! A key that a program signs in with.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp, user::Role};

/// One token. Only its hash is kept: it was shown once.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "api_token")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// Unique among those of its owner, or among those that have none; for people.
    pub name: String,
    /// SHA-256 of the token, in hex.
    #[sea_orm(unique)]
    pub hash: String,
    /// Who it stands for: it may never do more than they may, and ends with them. One that was made
    /// beside the database stands for nobody.
    pub user_id: Option<Uuid>,
    /// The only namespace it gives access to; `None` for all that its owner may see.
    pub namespace_id: Option<Uuid>,
    /// The queues that a worker may pull from with it. A token with queues opens nothing else.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub queues: Option<Strings>,
    /// See [`Role`].
    pub role: Role,
    /// Whether it sees contexts, outputs and logs.
    pub sees_payloads: bool,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From then on it is void.
    pub expires_at: Option<Timestamp>,
    /// Set when it was taken back.
    pub revoked_at: Option<Timestamp>,
    /// Last use, to the minute.
    pub used_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
