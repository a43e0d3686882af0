//! One life of a server process. A restart is a new row: what the old life held, the new one does
//! not.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

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
    /// How many runs it takes at once.
    pub capacity: i32,
    /// On the database's clock.
    pub started_at: Timestamp,
    /// On the database's clock.
    pub heartbeat_at: Timestamp,
    /// When it left or was declared dead.
    pub ended_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
