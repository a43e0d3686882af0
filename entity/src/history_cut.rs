//! How far back a namespace's quota of history rows has cut its history.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The last cut of one namespace.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "history_cut")]
pub struct Model {
    /// The namespace.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// Settled history from before this was removed.
    pub until: Timestamp,
    /// When the history was cut.
    pub at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
