//! A signed-in browser.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One session.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "session")]
pub struct Model {
    /// A hash of the cookie's value.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// The user who signed in.
    pub user_id: Option<Uuid>,
    /// The address that the user signed in from.
    pub address: Option<String>,
    /// The `User-Agent` header of the sign-in.
    pub browser: Option<String>,
    /// When the user signed in.
    pub began_at: Option<Timestamp>,
    /// When the session was last used, accurate to a few minutes.
    pub used_at: Option<Timestamp>,
    /// A mark of the password used to sign in: changing the password ends the session.
    pub mark: Option<String>,
    /// The session data of tower-sessions, as JSON.
    #[sea_orm(column_type = "JsonBinary")]
    pub data: Json,
    /// When the session expires.
    pub expires_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
