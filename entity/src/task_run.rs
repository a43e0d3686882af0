//! One attempt at one task of a run.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The state of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// The attempt is in progress.
    Running,
    /// The attempt succeeded.
    Succeeded,
    /// The attempt failed.
    Failed,
    /// The attempt took too long.
    TimedOut,
    /// The attempt was stopped on request or by the overlap policy.
    Cancelled,
    /// The node that worked on the attempt died or released the run.
    Lost,
    /// The task did not run: the tasks that it needs did not end as its `when` requires.
    Skipped,
}

/// One attempt at a task.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "task_run")]
pub struct Model {
    /// The run to which the attempt belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub run_id: Uuid,
    /// The task's name in the workflow.
    #[sea_orm(primary_key, auto_increment = false)]
    pub task: String,
    /// The attempt's number, counted from 1 without gaps.
    #[sea_orm(primary_key, auto_increment = false)]
    pub attempt: i32,
    /// The attempt's state. See [`State`].
    pub state: State,
    /// The node that works on the attempt.
    pub node_id: Uuid,
    /// When the attempt started.
    pub started_at: Timestamp,
    /// When the attempt ended.
    pub finished_at: Option<Timestamp>,
    /// The error, if the attempt did not succeed.
    pub error: Option<String>,
    /// The output that the target returned.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub output: Option<Json>,
}

impl ActiveModelBehavior for ActiveModel {}
