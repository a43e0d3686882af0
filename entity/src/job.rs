//! An attempt at a task that a worker executes.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(12))", rename_all = "snake_case")]
pub enum State {
    /// Waiting for a worker.
    Waiting,
    /// A worker has it.
    Held,
    /// The worker completed it.
    Succeeded,
    /// The worker reported that the job failed.
    Failed,
    /// The worker was silent for too long, so the job is lost.
    Lost,
    /// No attempt waits for the job any more.
    Cancelled,
}

/// One job. It is removed soon after the attempt that waits for it has seen how it ended.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The run to which the attempt belongs.
    pub run_id: Uuid,
    /// The run's task, by its name in the workflow.
    pub run_task: String,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// See [`State`].
    pub state: State,
    /// The queue from which workers take it.
    pub queue: String,
    /// The worker's task to run, by its name in the worker.
    pub task: String,
    /// The tags that the worker must have.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub tags: Option<Strings>,
    /// The task's input.
    #[sea_orm(column_type = "JsonBinary")]
    pub input: Json,
    /// What the worker is sent about the run.
    #[sea_orm(column_type = "JsonBinary")]
    pub about: Json,
    /// The run's priority: waiting jobs of the highest priority are taken first.
    pub priority: i16,
    /// How long the attempt may take.
    pub timeout_ms: i64,
    /// When the job was created: among equal priorities, the oldest is taken first.
    pub created_at: Timestamp,
    /// Until then an attempt is certain to wait for the job; its node extends this repeatedly.
    pub awaited_until: Timestamp,
    /// The worker that holds the job.
    pub worker_id: Option<Uuid>,
    /// The token that this worker's reports must carry; each worker that takes the job gets a new
    /// one.
    pub token: Option<String>,
    /// When the worker took the job.
    pub taken_at: Option<Timestamp>,
    /// When the worker counts as lost, unless it reports before.
    pub lease_until: Option<Timestamp>,
    /// How long each report extends the lease.
    pub lease_ms: i64,
    /// Whether the worker should stop working on the job.
    pub stop: bool,
    /// How many log lines were accepted.
    pub lines: i64,
    /// The total size of these lines in bytes.
    pub line_bytes: i64,
    /// How many of the lines are the beginning of a long output: of the others, only the end is
    /// kept. NULL for an output that is kept whole.
    pub head_lines: Option<i64>,
    /// How many bytes the lines of that beginning have.
    pub head_bytes: Option<i64>,
    /// The result.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub output: Option<Json>,
    /// Why the job failed.
    pub error: Option<String>,
    /// Whether the worker reports that another attempt would fail as well.
    pub is_final: bool,
    /// When the job ended.
    pub ended_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
