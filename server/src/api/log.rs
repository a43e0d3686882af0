use async_graphql::{Enum, SimpleObject};
use entity::task_log;

use super::scalar::Instant;

/// A line that an attempt printed.
#[derive(SimpleObject)]
pub(crate) struct LogLine {
    /// Its position in the run's log.
    pub(crate) cursor: String,
    task: String,
    attempt: i32,
    at: Instant,
    stream: LogStream,
    text: String,
}

/// Where a line came from.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "task_log::Stream")]
pub(crate) enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Carillon itself.
    System,
}

impl From<task_log::Model> for LogLine {
    fn from(row: task_log::Model) -> Self {
        Self {
            cursor: row.seq.to_string(),
            task: row.task,
            attempt: row.attempt,
            at: row.at.into(),
            stream: row.stream.into(),
            text: row.text,
        }
    }
}
