//! The output of an attempt: a row contains one line, or several lines that were printed together.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Carillon itself.
    System,
}

/// One line, or several.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task_log")]
pub struct Model {
    /// The run.
    #[sea_orm(primary_key, auto_increment = false)]
    pub run_id: Uuid,
    /// Orders the lines of a run: the attempt is in the upper 32 bits, the line number in the
    /// lower. A row of several lines has the number of its last line; the others have the preceding
    /// numbers.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: i64,
    /// The task.
    pub task: String,
    /// The attempt.
    pub attempt: i32,
    /// When the line was read; for several, the first one.
    pub at: Timestamp,
    /// See [`Stream`]. For several lines, that of the first.
    pub stream: Stream,
    /// The text without the final line ending; several lines are separated by line feeds.
    pub text: String,
    /// For several lines, the stream and time of each; `None` for one line.
    pub lines: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
