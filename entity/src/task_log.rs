//! The output of an attempt: a row contains one line, or several lines that were printed together.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// Where a log line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum Stream {
    /// The task's standard output.
    Stdout,
    /// The task's standard error.
    Stderr,
    /// Carillon itself wrote the line.
    System,
}

/// One log line, or several that were printed together.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task_log")]
pub struct Model {
    /// The run to which the lines belong.
    #[sea_orm(primary_key, auto_increment = false)]
    pub run_id: Uuid,
    /// Orders the lines of a run: the upper 32 bits hold the attempt,
    /// the lower ones the line number. A row of several lines has the number of its last
    /// line; the others have the preceding numbers.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: i64,
    /// The task that printed the lines.
    pub task: String,
    /// The attempt that printed the lines.
    pub attempt: i32,
    /// When the line was read; in a row of several lines, when the first one was.
    pub at: Timestamp,
    /// Where the line came from; in a row of several lines, where the first one came from.
    pub stream: Stream,
    /// The text without the final line break; several lines are separated by line feeds.
    pub text: String,
    /// For several lines, the stream and time of each; `None` for a single line.
    pub lines: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
