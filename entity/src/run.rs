//! One execution of a workflow.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// Waits for a node with room.
    Queued,
    /// A node works on it.
    Running,
    /// An attempt failed; waits for the next.
    Retrying,
    /// Done.
    Succeeded,
    /// All attempts failed.
    Failed,
    /// The last attempt took too long.
    TimedOut,
    /// Stopped by somebody.
    Cancelled,
}

impl State {
    /// Whether it will still change.
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
    /// Somebody had a settled run done again.
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
    /// The tenant.
    pub namespace_id: Uuid,
    /// The schedule, if one was involved.
    pub schedule_id: Option<Uuid>,
    /// The fire that started it.
    pub fire_id: Option<Uuid>,
    /// What it runs.
    pub workflow_id: Uuid,
    /// The definition that it keeps to the end.
    pub workflow_version: i32,
    /// See [`Trigger`].
    pub trigger: Trigger,
    /// See [`State`].
    pub state: State,
    /// The instant that it stands for.
    pub scheduled_at: Timestamp,
    /// When it was to start, with jitter.
    pub due_at: Timestamp,
    /// When it was handed over.
    pub created_at: Timestamp,
    /// Not to be started before.
    pub available_at: Timestamp,
    /// Start of the first attempt.
    pub started_at: Option<Timestamp>,
    /// When it settled.
    pub finished_at: Option<Timestamp>,
    /// The current attempt, from 1; 0 before the first.
    pub attempt: i32,
    /// How many attempts its retry policy allows. A lost attempt does not use one up.
    pub max_attempts: i32,
    /// How often recovery has taken it from a dead node.
    pub recovery_attempts: i32,
    /// The node that holds it.
    pub node_id: Option<Uuid>,
    /// The term of that hold; each new holder adds one. Every write of the holder names it.
    pub epoch: i64,
    /// From then on any node may declare the attempt timed out, on the database's clock.
    pub hard_deadline_at: Option<Timestamp>,
    /// Why it ended badly.
    pub error: Option<String>,
    /// When somebody asked to stop it.
    pub cancel_requested_at: Option<Timestamp>,
    /// Who.
    pub cancel_by: Option<String>,
    /// Why.
    pub cancel_reason: Option<String>,
    /// JSON object that the tasks read.
    #[sea_orm(column_type = "JsonBinary")]
    pub context: Json,
    /// Whether recovery started it or took it over.
    pub is_recovery: bool,
    /// The same over all attempts, for the receiver.
    pub idempotency_key: String,
    /// The run that this one does again.
    pub retry_of: Option<Uuid>,
    /// The group whose limit it counts in, as its schedule had it.
    pub group_id: Option<Uuid>,
    /// While it waits: runs of a higher priority are taken first.
    pub priority: i16,
    /// The tags that the node must have that takes it; null for none.
    #[sea_orm(column_type = "JsonBinary")]
    pub runs_on: Option<Strings>,
    /// Where its first task goes, if that is known before the run: scheme, host and port, or
    /// `command:` and a program. A node shares its places by it.
    pub origin: Option<String>,
    /// The backfill that it belongs to.
    pub backfill_id: Option<Uuid>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
