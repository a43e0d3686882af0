//! The lines that jobs have printed: added as workers report them, counted, and trimmed.

use entity::{
    Timestamp,
    job::{ActiveModel, Column, Entity, Model},
    job_line,
};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, Set, Value};
use uuid::Uuid;

use crate::store::{DatabaseTransaction, Store, StoreError};

/// The beginning of a job's long output, which is kept whatever comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobHead {
    /// The number of the last line in the beginning.
    pub lines: i64,
    /// The size of the beginning in bytes.
    pub bytes: i64,
}

impl JobHead {
    /// The beginning of a job's output; `None` if the output is kept whole.
    pub fn of(job: &Model) -> Option<Self> {
        Some(Self { lines: job.head_lines?, bytes: job.head_bytes? })
    }
}

impl Store {
    /// Removes lines between the beginning of a job's output and its end.
    /// Of the lines after the beginning, the last ones of each stream stay, up to these limits.
    pub async fn trim_lines_of_job(
        &self,
        tx: &DatabaseTransaction,
        job: Uuid,
        head: JobHead,
        max_lines: i64,
        max_bytes: i64,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM job_line WHERE job_id = $1 AND seq IN (SELECT seq FROM ( \
                     SELECT seq, row_number() OVER w AS place, \
                       SUM(OCTET_LENGTH(text) + 1) OVER w AS bytes \
                     FROM job_line WHERE job_id = $1 AND seq > $2 \
                     WINDOW w AS (PARTITION BY is_error ORDER BY seq DESC) \
                   ) AS ends WHERE place > $3 OR (place > 1 AND bytes > $4))";
        let values: [Value; 4] =
            [job.into(), head.lines.into(), max_lines.into(), max_bytes.into()];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(())
    }
}

/// Adds lines to the output of a locked job, and sets the end of its kept beginning.
pub async fn add_lines(
    tx: &DatabaseTransaction,
    job: &Model,
    lines: &[(bool, String)],
    head: Option<JobHead>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let row = ActiveModel {
        head_lines: Set(head.map(|head| head.lines)),
        head_bytes: Set(head.map(|head| head.bytes)),
        ..counted(job, lines)
    };
    Entity::update_many().set(row).filter(Column::Id.eq(job.id)).exec(tx).await?;
    let rows = (job.lines + 1..).zip(lines).map(|(seq, (is_error, text))| job_line::ActiveModel {
        job_id: Set(job.id),
        seq: Set(seq),
        at: Set(now),
        is_error: Set(*is_error),
        text: Set(text.clone()),
    });
    job_line::Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(())
}

/// Counts lines of a locked job without storing them.
pub async fn count_lines(
    tx: &DatabaseTransaction,
    job: &Model,
    lines: &[(bool, String)],
) -> Result<(), StoreError> {
    let row = counted(job, lines);
    Entity::update_many().set(row).filter(Column::Id.eq(job.id)).exec(tx).await?;
    Ok(())
}

/// The counts of a job's lines, with the given lines added.
fn counted(job: &Model, lines: &[(bool, String)]) -> ActiveModel {
    let added = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    let bytes: usize = lines.iter().map(|(_, text)| text.len()).sum();
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    ActiveModel {
        lines: Set(job.lines.saturating_add(added)),
        line_bytes: Set(job.line_bytes.saturating_add(bytes)),
        ..ActiveModel::default()
    }
}
