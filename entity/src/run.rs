//! One execution of a workflow.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// Waiting for a node with room.
    Queued,
    /// A node is executing it.
    Running,
    /// An attempt failed; waiting for the next one.
    Retrying,
    /// Done.
    Succeeded,
    /// All attempts failed.
    Failed,
    /// The last attempt took too long.
    TimedOut,
    /// Stopped on request or by the overlap policy.
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

/// What started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Trigger {
    /// A fire.
    Schedule,
    /// A person or a tool.
    Manual,
    /// A repetition of a settled run on request.
    Retry,
    /// A backfill.
    Backfill,
}

/// One run.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "run")]
pub struct Model {
    /// Key; the fire's, if a fire started it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The schedule, if one was involved.
    pub schedule_id: Option<Uuid>,
    /// The fire that started it.
    pub fire_id: Option<Uuid>,
    /// The workflow.
    pub workflow_id: Uuid,
    /// The version of the definition, fixed for the whole run.
    pub workflow_version: i32,
    /// See [`Trigger`].
    pub trigger: Trigger,
    /// See [`State`].
    pub state: State,
    /// The instant that it is for.
    pub scheduled_at: Timestamp,
    /// When it was due, with jitter.
    pub due_at: Timestamp,
    /// When it was handed over.
    pub created_at: Timestamp,
    /// The next attempt does not start before this.
    pub available_at: Timestamp,
    /// The start of the first attempt.
    pub started_at: Option<Timestamp>,
    /// When it settled.
    pub finished_at: Option<Timestamp>,
    /// The current attempt, from 1; 0 before the first.
    pub attempt: i32,
    /// How many attempts its retry policy permits. A lost attempt does not count.
    pub max_attempts: i32,
    /// How often recovery has taken it from a dead node.
    pub recovery_attempts: i32,
    /// The node that holds it.
    pub node_id: Option<Uuid>,
    /// The epoch of that hold; each new holder increments it. Every write of the holder names it.
    pub epoch: i64,
    /// When any node may declare the attempt timed out, by the database's clock.
    pub hard_deadline_at: Option<Timestamp>,
    /// The error, if it did not succeed.
    pub error: Option<String>,
    /// When its cancellation was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// Who requested that.
    pub cancel_by: Option<String>,
    /// Why it was requested.
    pub cancel_reason: Option<String>,
    /// A JSON object that the tasks read.
    #[sea_orm(column_type = "JsonBinary")]
    pub context: Json,
    /// Whether recovery started it or took it over.
    pub is_recovery: bool,
    /// The same for all attempts, so that the receiver can recognise a duplicate.
    pub idempotency_key: String,
    /// The run that this one repeats.
    pub retry_of: Option<Uuid>,
    /// The group whose limit it counts against, as set in its schedule.
    pub group_id: Option<Uuid>,
    /// While it waits: runs with a higher priority are taken first.
    pub priority: i16,
    /// The tags that its node must have; null for none.
    #[sea_orm(column_type = "JsonBinary")]
    pub runs_on: Option<Strings>,
    /// The target of its first task, if it is known before the run: scheme, host and port, or
    /// `command:` and a program. A node divides its places by origin.
    pub origin: Option<String>,
    /// The backfill that it belongs to.
    pub backfill_id: Option<Uuid>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
