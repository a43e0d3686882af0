//! What an attempt printed: a row holds one line, or several that were printed together.

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
    /// Orders the lines of a run: the attempt in the upper 32 bits, the line in the lower. Of a row
    /// with several lines it is the last one's; those before it have the numbers before.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: i64,
    /// The task.
    pub task: String,
    /// The attempt.
    pub attempt: i32,
    /// When it was read; the first of several.
    pub at: Timestamp,
    /// See [`Stream`]. The first one's of several.
    pub stream: Stream,
    /// Without the line's end; several are divided by line feeds.
    pub text: String,
    /// Of several lines, the stream and the time of each; `None` for one line.
    pub lines: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
