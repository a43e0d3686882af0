//! One attempt at one task of a run.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The state of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// At work.
    Running,
    /// Done.
    Succeeded,
    /// Ended in failure.
    Failed,
    /// Took too long.
    TimedOut,
    /// Stopped on request or by the overlap policy.
    Cancelled,
    /// The node that worked on it died or released it.
    Lost,
    /// It never ran: the tasks that it needs did not end as `when` requires.
    Skipped,
}

/// One attempt.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "task_run")]
pub struct Model {
    /// The run.
    #[sea_orm(primary_key, auto_increment = false)]
    pub run_id: Uuid,
    /// The task's name in the workflow.
    #[sea_orm(primary_key, auto_increment = false)]
    pub task: String,
    /// Counts from 1, without gaps.
    #[sea_orm(primary_key, auto_increment = false)]
    pub attempt: i32,
    /// See [`State`].
    pub state: State,
    /// The node that works on it.
    pub node_id: Uuid,
    /// Start.
    pub started_at: Timestamp,
    /// End.
    pub finished_at: Option<Timestamp>,
    /// The error, if it did not succeed.
    pub error: Option<String>,
    /// The target's output.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub output: Option<Json>,
}

impl ActiveModelBehavior for ActiveModel {}
