//! A queue of workers that somebody has limited.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One queue. Those without a limit have no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker_queue")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// Unique in the namespace.
    pub name: String,
    /// Workers have so many of its jobs at once, all workers together.
    pub max_jobs: i32,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
