//! An attempt at a task that a worker carries out.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(12))", rename_all = "snake_case")]
pub enum State {
    /// For a worker.
    Waiting,
    /// A worker is at it.
    Held,
    /// The worker completed it.
    Succeeded,
    /// The worker failed it.
    Failed,
    /// The worker was not heard for too long.
    Lost,
    /// Nobody waits for it any more.
    Cancelled,
}

/// One job. It goes away soon after the attempt that waits for it has seen how it ended.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// The run whose attempt it is.
    pub run_id: Uuid,
    /// The task of the run, by its name there.
    pub run_task: String,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// See [`State`].
    pub state: State,
    /// Where workers look for it.
    pub queue: String,
    /// What the worker is to do, by its name there.
    pub task: String,
    /// What the worker must have.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub tags: Option<Strings>,
    /// What it is given.
    #[sea_orm(column_type = "JsonBinary")]
    pub input: Json,
    /// What it is told of the run.
    #[sea_orm(column_type = "JsonBinary")]
    pub about: Json,
    /// That of its run: the highest is taken first.
    pub priority: i16,
    /// How long the attempt may take.
    pub timeout_ms: i64,
    /// When it was made: of one priority the oldest is taken first.
    pub created_at: Timestamp,
    /// Until then somebody waits for it for certain: the node says so again and again.
    pub awaited_until: Timestamp,
    /// Who has it.
    pub worker_id: Option<Uuid>,
    /// What each word of that worker about it names; another one for each that takes it.
    pub token: Option<String>,
    /// When it was taken.
    pub taken_at: Option<Timestamp>,
    /// Its worker is lost then, unless it is heard before.
    pub lease_until: Option<Timestamp>,
    /// How long the lease lasts from one word to the next.
    pub lease_ms: i64,
    /// Whether the worker is to end it.
    pub stop: bool,
    /// How many lines of what it printed were taken.
    pub lines: i64,
    /// How many bytes these have.
    pub line_bytes: i64,
    /// What came out.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub output: Option<Json>,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether the worker says that another attempt would fail as well.
    pub is_final: bool,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
