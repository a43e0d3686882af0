//! An attempt at a task that a worker, not a node, executes.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(12))", rename_all = "snake_case")]
pub enum State {
    /// The job waits for a worker.
    Waiting,
    /// A worker holds the job.
    Held,
    /// The worker completed the job.
    Succeeded,
    /// The worker reported that the job failed.
    Failed,
    /// The worker was silent for too long, so the job is lost.
    Lost,
    /// No attempt waits for the job any more.
    Cancelled,
}

/// One job. It is removed soon after the waiting attempt has read its result.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    /// The job's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The job's namespace.
    pub namespace_id: Uuid,
    /// The run to which the attempt belongs.
    pub run_id: Uuid,
    /// The run's task: its name in the workflow.
    pub run_task: String,
    /// The number of the attempt, counted from 1.
    pub attempt: i32,
    /// The job's state. See [`State`].
    pub state: State,
    /// The queue from which workers take the job.
    pub queue: String,
    /// The worker's task that the job runs: its name in the worker's program.
    pub task: String,
    /// The tags that the worker must have.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub tags: Option<Strings>,
    /// The task's input.
    #[sea_orm(column_type = "JsonBinary")]
    pub input: Json,
    /// The facts about the run that the worker receives.
    #[sea_orm(column_type = "JsonBinary")]
    pub about: Json,
    /// The run's priority: waiting jobs of the highest priority are taken first.
    pub priority: i16,
    /// How long the attempt may take.
    pub timeout_ms: i64,
    /// When the job was created. Among jobs of equal priority, the oldest is taken first.
    pub created_at: Timestamp,
    /// Until this time an attempt is certain to wait for the job.
    /// Its node extends the time repeatedly.
    pub awaited_until: Timestamp,
    /// The worker that holds the job.
    pub worker_id: Option<Uuid>,
    /// The token that reports of this worker must carry.
    /// Each worker that takes the job gets a new token.
    pub token: Option<String>,
    /// When the worker took the job.
    pub taken_at: Option<Timestamp>,
    /// When the worker counts as lost unless it reports first.
    pub lease_until: Option<Timestamp>,
    /// How long each report extends the lease.
    pub lease_ms: i64,
    /// Whether the worker should stop working on the job.
    pub stop: bool,
    /// Number of log lines accepted from the worker.
    pub lines: i64,
    /// Total size of the accepted lines in bytes.
    pub line_bytes: i64,
    /// How many lines form the kept beginning of a long output. Of the rest, only the end is kept.
    /// Null for an output that is kept whole.
    pub head_lines: Option<i64>,
    /// Size of the kept beginning in bytes.
    pub head_bytes: Option<i64>,
    /// The task's output, as reported by the worker.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub output: Option<Json>,
    /// Why the job failed.
    pub error: Option<String>,
    /// Whether the worker reported that another attempt would also fail.
    pub is_final: bool,
    /// When the job ended.
    pub ended_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
