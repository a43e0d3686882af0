//! One life of a server process.
//! A restart adds a row: the new life does not hold what the previous one held.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// The state of a node, which decides whether it can hold work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum State {
    /// The node's heartbeat is recent.
    Alive,
    /// The process shut down in good order.
    Left,
    /// The heartbeat has expired, or another process started under the same name.
    /// This life can never become alive again.
    Dead,
}

/// Where a node's heartbeats are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum BeatsIn {
    /// Every heartbeat is written to the node's row.
    #[default]
    Database,
    /// Heartbeats are written to Redis. One is written to the node's row only if Redis rejects it
    /// or another node doubts that this node is alive.
    Redis,
}

/// One life of a server process.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "node")]
pub struct Model {
    /// The node's primary key, new at each start of the process.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The name by which operators know the process.
    pub name: String,
    /// The number of this life among those with the same name, counted from 1.
    pub incarnation: i32,
    /// The node's state. See [`State`].
    pub state: State,
    /// The version of the Carillon program.
    pub version: String,
    /// The version of the zone data in use.
    pub zone_data: String,
    /// The last migration that the node's program contains.
    pub schema: String,
    /// Identifies the process on its machine; empty if the system cannot tell.
    /// The server's `engine::cluster` uses it.
    pub process: String,
    /// The node's roles: `api`, `scheduler`, `worker`.
    #[sea_orm(column_type = "JsonBinary")]
    pub roles: Strings,
    /// The node's tags, which runs can require.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// The maximum number of runs that the node executes at once.
    pub capacity: i32,
    /// How many runs the node held at its last heartbeat.
    pub held: i32,
    /// How far the node's clock was ahead of the database's clock at its last heartbeat.
    pub clock_offset_ms: i64,
    /// When the process started, by the database's clock.
    pub started_at: Timestamp,
    /// The last heartbeat written to this row, by the database's clock.
    pub heartbeat_at: Timestamp,
    /// Where the node's heartbeats are written. See [`BeatsIn`].
    pub beats_in: BeatsIn,
    /// When another node began to doubt that this node, whose heartbeats are written elsewhere, is
    /// alive. A heartbeat in this row ends the doubt.
    pub doubted_at: Option<Timestamp>,
    /// Why the node cannot reach Redis, if it is configured to use it.
    pub redis_problem: Option<String>,
    /// Since when the node takes no new work and only finishes the work that it holds.
    pub draining_at: Option<Timestamp>,
    /// Since when the node takes no new work because an operator drained it.
    /// Not set during a shutdown.
    pub drained_at: Option<Timestamp>,
    /// The user or token that drained the node.
    pub drained_by: Option<String>,
    /// Why the node was drained.
    pub drain_reason: Option<String>,
    /// When the process left or was declared dead.
    pub ended_at: Option<Timestamp>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
