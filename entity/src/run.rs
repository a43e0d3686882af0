//! One execution of a workflow.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// The run waits for a node with a free place.
    Queued,
    /// A node executes the run.
    Running,
    /// An attempt failed, and the run waits for the next one.
    Retrying,
    /// The run succeeded.
    Succeeded,
    /// All attempts of the run failed.
    Failed,
    /// The last attempt of the run took too long.
    TimedOut,
    /// The run was stopped on request or by the overlap policy.
    Cancelled,
}

impl State {
    /// Whether the run can still change.
    pub fn is_live(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Retrying => true,
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled => false,
        }
    }
}

/// How a run was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Trigger {
    /// A fire started the run.
    Schedule,
    /// A person or a tool started the run.
    Manual,
    /// The run repeats a settled run on request.
    Retry,
    /// A backfill started the run.
    Backfill,
}

/// One run.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "run")]
pub struct Model {
    /// The run's primary key: the fire's key, if a fire started the run.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The run's namespace.
    pub namespace_id: Uuid,
    /// The schedule to which the run belongs, if any.
    pub schedule_id: Option<Uuid>,
    /// The fire that started the run, if any.
    pub fire_id: Option<Uuid>,
    /// The workflow that the run executes.
    pub workflow_id: Uuid,
    /// The version of the workflow's definition, fixed for the whole run.
    pub workflow_version: i32,
    /// How the run was started. See [`Trigger`].
    pub trigger: Trigger,
    /// The run's state. See [`State`].
    pub state: State,
    /// The scheduled instant of the run's fire.
    pub scheduled_at: Timestamp,
    /// When the run was due: the scheduled instant plus jitter.
    pub due_at: Timestamp,
    /// When the run was created by the hand-off of its fire.
    pub created_at: Timestamp,
    /// The next attempt does not start before this instant.
    pub available_at: Timestamp,
    /// When the first attempt started.
    pub started_at: Option<Timestamp>,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
    /// The number of the current attempt, counted from 1; 0 before the first attempt.
    pub attempt: i32,
    /// Number of attempts that the retry policy permits. Lost attempts do not count.
    pub max_attempts: i32,
    /// How many times recovery has taken the run from a dead node.
    pub recovery_attempts: i32,
    /// The node that holds the run.
    pub node_id: Option<Uuid>,
    /// The epoch of the node's hold: each new holder increments
    /// it, and every write of the holder names it.
    pub epoch: i64,
    /// From this time on, any node may declare the attempt timed out. By the database's clock.
    pub hard_deadline_at: Option<Timestamp>,
    /// The error of a run that did not succeed.
    pub error: Option<String>,
    /// When the cancellation of the run was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// The author of the request: a user, a token or `carillon`.
    pub cancel_by: Option<String>,
    /// Why the cancellation was requested.
    pub cancel_reason: Option<String>,
    /// A JSON object that the tasks read.
    #[sea_orm(column_type = "JsonBinary")]
    pub context: Json,
    /// Whether recovery started the run or took it over.
    pub is_recovery: bool,
    /// The key that targets receive: the same for all attempts,
    /// so that the receiver can recognise a duplicate.
    pub idempotency_key: String,
    /// The run that this run retries.
    pub retry_of: Option<Uuid>,
    /// The concurrency group whose limit the run counts against, as set in its schedule.
    pub group_id: Option<Uuid>,
    /// The priority while the run waits: runs with a higher priority are taken first.
    pub priority: i16,
    /// The tags that a node must have to take the run; null for none.
    #[sea_orm(column_type = "JsonBinary")]
    pub runs_on: Option<Strings>,
    /// The target of the run's first task, if it is known before the run starts: scheme,
    /// host and port; or `command:` or `worker:`, the namespace's id, and a program or queue.
    /// A node divides its places among origins.
    pub origin: Option<String>,
    /// The backfill to which the run belongs.
    pub backfill_id: Option<Uuid>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
