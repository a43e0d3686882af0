//! A worker: a program that pulls tasks.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// One registration of a worker: from its start, or its return after it was lost, until it leaves.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker")]
pub struct Model {
    /// The worker's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The worker's namespace.
    pub namespace_id: Uuid,
    /// The name that the worker gives itself. Several workers may share a name.
    pub name: String,
    /// The queues from which the worker pulls jobs.
    #[sea_orm(column_type = "JsonBinary")]
    pub queues: Strings,
    /// The worker's tags, which jobs can require.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// Maximum number of jobs that the worker takes at once.
    pub capacity: i32,
    /// The version of the worker's program, for display.
    pub version: String,
    /// The client library that the worker uses, and the library's version.
    pub client: String,
    /// The token with which the worker registered:
    /// only requests with this token act for the worker.
    pub token_id: Uuid,
    /// The token's name, for display.
    pub token: String,
    /// Whether the worker is draining: it takes no new jobs.
    pub draining: bool,
    /// When the worker registered.
    pub registered_at: Timestamp,
    /// When the worker was last heard from.
    pub heartbeat_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
