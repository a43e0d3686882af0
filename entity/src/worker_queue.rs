//! A queue of workers with a limit.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One queue. Queues without a limit have no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker_queue")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// Unique in the namespace.
    pub name: String,
    /// Maximum number of its jobs that all workers together hold at once.
    pub max_jobs: i32,
    /// When the worker queue last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
