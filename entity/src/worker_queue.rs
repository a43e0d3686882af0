//! Queues of workers that have a limit.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One queue with a limit. A queue without a limit has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker_queue")]
pub struct Model {
    /// The queue's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The queue's namespace.
    pub namespace_id: Uuid,
    /// The queue's name, unique in the namespace.
    pub name: String,
    /// Maximum number of the queue's jobs that all workers together may hold at once.
    pub max_jobs: i32,
    /// When the limit was last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
