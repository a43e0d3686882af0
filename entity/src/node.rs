//! One life of a server process. A restart is a new row: what the old life held, the new one does
//! not.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// Whether it can hold anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum State {
    /// Its heartbeat is fresh.
    Alive,
    /// It said goodbye.
    Left,
    /// Its heartbeat expired, or its name started anew. It can never come back.
    Dead,
}

/// Where its heartbeats go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum BeatsIn {
    /// Into this row, each of them.
    #[default]
    Database,
    /// Into Redis. Into this row only when Redis does not take them, and when somebody doubts that
    /// the node is alive.
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
    /// The name that the operator knows.
    pub name: String,
    /// Counts the lives of that name from 1.
    pub incarnation: i32,
    /// See [`State`].
    pub state: State,
    /// Version of the program.
    pub version: String,
    /// Version of the zone data that it computes with.
    pub zone_data: String,
    /// The last migration that its program knows.
    pub schema: String,
    /// The process, as its machine tells it from others; empty where it does not. See the server's
    /// `engine::cluster`.
    pub process: String,
    /// What it does: `api`, `scheduler`, `worker`.
    #[sea_orm(column_type = "JsonBinary")]
    pub roles: Strings,
    /// What runs may ask of the node that takes them.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// How many runs it takes at once.
    pub capacity: i32,
    /// How many it held at its last heartbeat.
    pub held: i32,
    /// How far its clock was ahead of the database's then.
    pub clock_offset_ms: i64,
    /// On the database's clock.
    pub started_at: Timestamp,
    /// The last heartbeat that was written here, on the database's clock.
    pub heartbeat_at: Timestamp,
    /// See [`BeatsIn`].
    pub beats_in: BeatsIn,
    /// Since when somebody doubts that a node whose heartbeats go elsewhere is alive; a heartbeat
    /// that is written here is the answer.
    pub doubted_at: Option<Timestamp>,
    /// Why it cannot reach Redis, if it is to and cannot.
    pub redis_problem: Option<String>,
    /// Since when it only brings to an end what it holds.
    pub draining_at: Option<Timestamp>,
    /// Since when it takes nothing on because somebody drained it. Not while it shuts down.
    pub drained_at: Option<Timestamp>,
    /// Who drained it.
    pub drained_by: Option<String>,
    /// Why.
    pub drain_reason: Option<String>,
    /// When it left or was declared dead.
    pub ended_at: Option<Timestamp>,
    /// Stamp of the last write, for the change feed.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
