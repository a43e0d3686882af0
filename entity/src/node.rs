//! One life of a server process. A restart is a new row: the new life does not hold what the old
//! one held.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// The state of a node: whether it can hold work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum State {
    /// The heartbeat is fresh.
    Alive,
    /// The process has left in good order.
    Left,
    /// The heartbeat has expired, or a process with the same name was started. This life can never
    /// come back.
    Dead,
}

/// Where a node's heartbeats are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum BeatsIn {
    /// Every heartbeat is written to this row.
    #[default]
    Database,
    /// Heartbeats are written to Redis. They are written to this row only if Redis rejects them, or
    /// if another node doubts that this node is alive.
    Redis,
}

/// One life of a process.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "node")]
pub struct Model {
    /// Key, new at each start.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The name by which operators know the process.
    pub name: String,
    /// The number of this life among those with the same name, from 1.
    pub incarnation: i32,
    /// See [`State`].
    pub state: State,
    /// The version of the program.
    pub version: String,
    /// The version of the zone data in use.
    pub zone_data: String,
    /// The last migration that its program contains.
    pub schema: String,
    /// Identifies the process on its machine; empty if the system cannot tell. See the server's
    /// `engine::cluster`.
    pub process: String,
    /// The node's roles: `api`, `scheduler`, `worker`.
    #[sea_orm(column_type = "JsonBinary")]
    pub roles: Strings,
    /// The tags that runs can require.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// The maximum number of runs that the node executes at once.
    pub capacity: i32,
    /// How many runs the node held at its last heartbeat.
    pub held: i32,
    /// How far the node's clock was ahead of the database's at that time.
    pub clock_offset_ms: i64,
    /// When the process started, by the database's clock.
    pub started_at: Timestamp,
    /// The last heartbeat written here, by the database's clock.
    pub heartbeat_at: Timestamp,
    /// See [`BeatsIn`].
    pub beats_in: BeatsIn,
    /// Since when another node has doubted that this node, whose heartbeats are written elsewhere,
    /// is alive; a heartbeat in this row answers the doubt.
    pub doubted_at: Option<Timestamp>,
    /// Why the node cannot reach Redis, if it should and cannot.
    pub redis_problem: Option<String>,
    /// Since when the node only finishes the work that it holds.
    pub draining_at: Option<Timestamp>,
    /// Since when the node takes no new work because an operator drained it. Not set during a
    /// shutdown.
    pub drained_at: Option<Timestamp>,
    /// Who drained the node.
    pub drained_by: Option<String>,
    /// Why the node was drained.
    pub drain_reason: Option<String>,
    /// When the process left or was declared dead.
    pub ended_at: Option<Timestamp>,
    /// Stamp of the last write, for the change feed.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
