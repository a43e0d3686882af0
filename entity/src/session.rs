//! A browser that is signed in.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One session.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "session")]
pub struct Model {
    /// The cookie's value, hashed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// Who signed in.
    pub user_id: Option<Uuid>,
    /// From where.
    pub address: Option<String>,
    /// When.
    pub began_at: Option<Timestamp>,
    /// Last use, to some minutes.
    pub used_at: Option<Timestamp>,
    /// Of the password that was given: another password ends the session.
    pub mark: Option<String>,
    /// What tower-sessions keeps, as JSON.
    #[sea_orm(column_type = "JsonBinary")]
    pub data: Json,
    /// From then on it is void.
    pub expires_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
