//! The lines that attempts print.

use entity::{Timestamp, task_log};
use sea_orm::{ActiveEnum, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::{Store, StoreError, bulk::Bulk};

/// A line to be written.
#[derive(Clone, Debug)]
pub struct NewLine {
    /// The run.
    pub run_id: Uuid,
    /// Its place in the run's log.
    pub seq: i64,
    /// The task.
    pub task: String,
    /// The attempt.
    pub attempt: i32,
    /// When it was read.
    pub at: Timestamp,
    /// Where it came from.
    pub stream: task_log::Stream,
    /// The text.
    pub text: String,
}

impl Store {
    /// Writes lines. One that stands there already stays: a repeated write changes nothing.
    pub async fn append_lines(&self, lines: &[NewLine]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let statement = Bulk::default()
            .uuid("run_id", lines.iter().map(|line| line.run_id))
            .int("seq", lines.iter().map(|line| line.seq))
            .text("task", lines.iter().map(|line| line.task.clone()))
            .int("attempt", lines.iter().map(|line| i64::from(line.attempt)))
            .int("at", lines.iter().map(|line| line.at.0))
            .text("stream", lines.iter().map(|line| line.stream.to_value()))
            .text("text", lines.iter().map(|line| line.text.clone()))
            .statement(
                self.dialect(),
                "INSERT INTO task_log (run_id, seq, task, attempt, at, stream, text) \
                 SELECT run_id, seq, task, attempt, at, stream, text FROM v WHERE true \
                 ON CONFLICT (run_id, seq) DO NOTHING",
                vec![],
            );
        let tx = self.begin().await?;
        tx.execute_raw(statement).await?;
        self.commit(tx).await
    }

    /// The lines of a run after `after`, in order.
    pub async fn lines_after(
        &self,
        run_id: Uuid,
        after: i64,
        limit: u64,
    ) -> Result<Vec<task_log::Model>, StoreError> {
        Ok(task_log::Entity::find()
            .filter(task_log::COLUMN.run_id.eq(run_id))
            .filter(task_log::COLUMN.seq.gt(after))
            .order_by_asc(task_log::Column::Seq)
            .limit(limit)
            .all(self.read())
            .await?)
    }
}
