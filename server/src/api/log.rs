use async_graphql::{Enum, SimpleObject};
use entity::task_log;

use super::scalar::Instant;

/// A line that an attempt printed.
#[derive(SimpleObject)]
pub(crate) struct LogLine {
    /// The line's position in the run's log.
    pub(crate) cursor: String,
    /// The name of the task that printed it.
    task: String,
    /// The number of the task's attempt, from 1.
    attempt: i32,
    /// When it was printed.
    at: Instant,
    /// The stream that the line was written to.
    stream: LogStream,
    /// The line without its end: at most 16 KiB.
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
