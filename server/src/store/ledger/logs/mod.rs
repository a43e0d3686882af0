//! The lines that attempts print, packed into chunks. One row per line would cost a hundred bytes
//! in addition to the text, and programs print millions of short lines.

mod chunk;

use entity::task_log;
use sea_orm::{ActiveEnum, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

pub use self::chunk::{Chunk, NewChunk};
use crate::store::{DatabaseTransaction, Store, StoreError, db::bulk::BulkValues};

/// Number of rows that are read first: a row may contain more lines than requested.
const FIRST_ROWS: u64 = 2;

/// Maximum number of rows read at once.
const MAX_ROWS: u64 = 200;

impl Store {
    /// Writes chunks of lines.
    /// Existing chunks stay as they are, so that a repeated write changes nothing.
    pub async fn append_lines(&self, chunks: &[NewChunk]) -> Result<(), StoreError> {
        if chunks.is_empty() {
            return Ok(());
        }
        let tx = self.begin().await?;
        self.append_lines_in(&tx, chunks.iter()).await?;
        self.commit(tx).await
    }

    /// Writes chunks of lines in a transaction.
    pub async fn append_lines_in<'a>(
        &self,
        tx: &DatabaseTransaction,
        chunks: impl Iterator<Item = &'a NewChunk> + Clone,
    ) -> Result<(), StoreError> {
        if chunks.clone().next().is_none() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .uuid("run_id", chunks.clone().map(|chunk| chunk.run_id))
            .int("seq", chunks.clone().map(|chunk| chunk.seq))
            .text("task", chunks.clone().map(|chunk| chunk.task.clone()))
            .int("attempt", chunks.clone().map(|chunk| i64::from(chunk.attempt)))
            .int("at", chunks.clone().map(|chunk| chunk.at.0))
            .text("stream", chunks.clone().map(|chunk| chunk.stream.to_value()))
            .text("text", chunks.clone().map(|chunk| chunk.text.clone()))
            .text("lines", chunks.clone().map(|chunk| chunk.lines.clone()))
            .statement(
                self.dialect(),
                "INSERT INTO task_log (run_id, seq, task, attempt, at, stream, text, lines) \
                 SELECT run_id, seq, task, attempt, at, stream, text, lines FROM v WHERE true \
                 ON CONFLICT (run_id, seq) DO NOTHING",
                vec![],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// The lines of a run after line number `after`, in order, one model per line.
    pub async fn lines_after(
        &self,
        run_id: Uuid,
        after: i64,
        limit: u64,
    ) -> Result<Vec<task_log::Model>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut lines, mut last, mut rows) = (Vec::new(), after, FIRST_ROWS);
        while lines.len() < limit {
            let found = task_log::Entity::find()
                .filter(task_log::COLUMN.run_id.eq(run_id))
                .filter(task_log::COLUMN.seq.gt(last))
                .order_by_asc(task_log::Column::Seq)
                .limit(rows)
                .all(self.read())
                .await?;
            let is_end = u64::try_from(found.len()).is_ok_and(|count| count < rows);
            for row in found {
                last = row.seq;
                if lines.len() < limit {
                    let left = limit - lines.len();
                    lines.extend(chunk::lines_of(row).filter(|line| line.seq > after).take(left));
                }
            }
            if is_end {
                break;
            }
            rows = (rows * 4).min(MAX_ROWS);
        }
        Ok(lines)
    }
}
