//! The permissions of a user in one namespace.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, user::Role};

/// The membership of one user in one namespace.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "membership")]
pub struct Model {
    /// The user who is a member.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: Uuid,
    /// The namespace of the membership.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// The user's role in the namespace. See [`Role`].
    pub role: Role,
    /// Whether the user may see contexts, outputs and logs in the namespace.
    pub sees_payloads: bool,
    /// When the membership was created.
    pub created_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
