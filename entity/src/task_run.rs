//! One attempt at one task of a run.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// At work.
    Running,
    /// Done.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Took too long.
    TimedOut,
    /// Stopped by somebody.
    Cancelled,
    /// The node that worked on it died or let go of it.
    Lost,
    /// Its turn never came: the tasks that it needs did not end as it asks for.
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
    /// Why it ended badly.
    pub error: Option<String>,
    /// What the target gave back.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub output: Option<Json>,
}

impl ActiveModelBehavior for ActiveModel {}
