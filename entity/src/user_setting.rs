//! The settings of each user's console.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The settings of one user.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "user_setting")]
pub struct Model {
    /// The user to whom the settings belong.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: Uuid,
    /// Appearance, saved views and favourites; see the server's `commands::people::settings`.
    #[sea_orm(column_type = "JsonBinary")]
    pub settings: Json,
    /// When the settings last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
