//! Reads what a check of the ledger compares: the rows of a schedule within a range, and the
//! versions that were in force during it.

use entity::{
    Timestamp,
    fire::{Reason, Verdict},
    schedule_version::{Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Value,
};
use uuid::Uuid;

use crate::store::{Store, StoreError};

/// Maximum number of rows that one statement reads.
const CHUNK: usize = 10_000;

/// A row of a schedule's ledger, as far as it accounts for instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct AccountingRow {
    /// The key of the row.
    pub id: Uuid,
    /// The version of the schedule whose timing produced the instants.
    pub schedule_version: i32,
    /// The instant, or the first one of a range.
    pub scheduled_at: Timestamp,
    /// The last instant of a range; for one instant, the same instant.
    pub last_scheduled_at: Timestamp,
    /// Number of instants that the row stands for.
    pub count: i64,
    /// The verdict on the fire.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: Reason,
    /// When the row was written.
    pub claimed_at: Timestamp,
}

/// The columns of an [`AccountingRow`].
const COLUMNS: &str =
    "id, schedule_version, scheduled_at, last_scheduled_at, count, verdict, reason, claimed_at";

/// The rows that account for instants of a schedule from `from` until before `until`, in ascending
/// order: those that begin earlier, and then up to `most` others.
pub async fn rows(
    store: &Store,
    schedule: Uuid,
    from: Timestamp,
    until: Timestamp,
    most: usize,
) -> Result<Vec<AccountingRow>, StoreError> {
    // Ranges do not overlap, so more than one of these is a fault, which the check reports.
    let sql = format!(
        "SELECT {COLUMNS} FROM fire WHERE schedule_id = $1 AND count > 1 AND scheduled_at < $2 \
           AND last_scheduled_at >= $2 ORDER BY scheduled_at LIMIT 100"
    );
    let statement = store.dialect().statement(&sql, [schedule.into(), from.0.into()]);
    let mut rows = AccountingRow::find_by_statement(statement).all(store.read()).await?;
    let (earlier, mut begin) = (rows.len(), from);
    let sql = format!(
        "SELECT {COLUMNS} FROM fire WHERE schedule_id = $1 AND scheduled_at >= $2 \
           AND scheduled_at < $3 ORDER BY scheduled_at LIMIT $4"
    );
    loop {
        let limit = CHUNK.min(most.saturating_sub(rows.len() - earlier));
        let values: [Value; 4] = [
            schedule.into(),
            begin.0.into(),
            until.0.into(),
            i64::try_from(limit).unwrap_or(i64::MAX).into(),
        ];
        let statement = store.dialect().statement(&sql, values);
        let chunk = AccountingRow::find_by_statement(statement).all(store.read()).await?;
        let (is_last, last) = (chunk.len() < CHUNK, chunk.last().map(|row| row.scheduled_at));
        rows.extend(chunk);
        match last {
            // An instant of a schedule has one row.
            Some(last) if !is_last => begin = Timestamp(last.0 + 1),
            Some(_) | None => return Ok(rows),
        }
    }
}

/// The version of a schedule that was in force at `since`, and up to `most` later ones, in order.
pub async fn versions_since(
    store: &Store,
    schedule: Uuid,
    since: Timestamp,
    most: u64,
) -> Result<Vec<Model>, StoreError> {
    let all = Entity::find().filter(Column::ScheduleId.eq(schedule));
    let in_force = all
        .clone()
        .filter(Column::ChangedAt.lte(since))
        .order_by_desc(Column::Version)
        .one(store.read())
        .await?;
    let later = all
        .filter(Column::ChangedAt.gt(since))
        .order_by_asc(Column::Version)
        .limit(most)
        .all(store.read())
        .await?;
    Ok(in_force.into_iter().chain(later).collect())
}
