//! How much of its history each namespace has lost to its quota of history rows.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The last cut of one namespace.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "history_cut")]
pub struct Model {
    /// The namespace whose history was cut.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// Settled history from before this instant was removed.
    pub until: Timestamp,
    /// When the history was cut.
    pub at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
