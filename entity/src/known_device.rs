//! A browser in which a user has signed in with a password before.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One browser of one user.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "known_device")]
pub struct Model {
    /// The SHA-256 hash of the user's name and the cookie that the browser sends.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// The user who signed in.
    pub user_id: Uuid,
    /// The user's last sign-in from that browser.
    pub used_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
