//! Finds the next instant at which work is due. The planner sleeps until then.

use entity::Timestamp;
use sea_orm::FromQueryResult;

use super::candidates::{BEFORE_PAUSE, Candidate, excluding};
use crate::store::{Store, StoreError, db::live::RowsSince};

/// A cursor that will become due, for the planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorAhead {
    /// The schedule's shard; `None` for work that does not belong to a node first.
    pub shard: Option<u8>,
    /// When the cursor becomes or became due.
    pub at: Timestamp,
}

/// Number of cursors that are read on each side of now.
pub const LOOKED_AT: usize = 64;

impl Store {
    /// The first instant at which a schedule must be claimed, an intent becomes due, or a pause
    /// ends. Overdue instants count, too.
    pub async fn next_due_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.next_due_excluding(now, &[]).await
    }

    /// The first instant at which work is due, without the schedules in `passed`.
    pub async fn next_due_excluding(
        &self,
        now: Timestamp,
        passed: &[Candidate],
    ) -> Result<Option<Timestamp>, StoreError> {
        #[derive(FromQueryResult)]
        struct NextDue {
            at: Option<i64>,
        }
        let mut values = Vec::new();
        let excluded = excluding(passed, &mut values);
        let sql = format!(
            "SELECT min(at) AS at FROM (SELECT min(next_fire_at) AS at FROM schedule \
               WHERE enabled AND next_fire_at IS NOT NULL {excluded} AND {BEFORE_PAUSE} \
             UNION ALL \
             SELECT min(due_at) FROM fire WHERE verdict = 'pending' AND claimed_by IS NULL \
               AND queue_position IS NULL{} \
             UNION ALL \
             SELECT min(paused_until) FROM schedule \
              WHERE paused_until IS NOT NULL AND NOT enabled AND deleted_at IS NULL) due",
            self.dialect().pending_fires("scheduled_at", now, RowsSince::Margin)
        );
        let statement = self.dialect().statement(sql, values);
        let row = NextDue::find_by_statement(statement).one(self.rounds()).await?;
        Ok(row.and_then(|row| row.at).map(Timestamp))
    }

    /// The next work of one of several nodes: the first cursors that are due at `now`, the first
    /// ones that come after it, and the first work that does not belong to a node first.
    pub async fn due_ahead_excluding(
        &self,
        now: Timestamp,
        passed: &[Candidate],
    ) -> Result<Vec<CursorAhead>, StoreError> {
        #[derive(FromQueryResult)]
        struct DueCursor {
            shard: Option<i32>,
            at: i64,
        }
        let mut values = vec![now.0.into()];
        let excluded = excluding(passed, &mut values);
        let some = |what: &str| {
            format!(
                "SELECT CAST(shard AS integer) AS shard, at FROM (SELECT shard, next_fire_at AS at \
                   FROM schedule WHERE enabled AND next_fire_at IS NOT NULL \
                     AND next_fire_at {what} $1 {excluded} AND {BEFORE_PAUSE} \
                   ORDER BY next_fire_at LIMIT {LOOKED_AT}) near"
            )
        };
        let sql = format!(
            "{} UNION ALL {} UNION ALL \
             SELECT CAST(NULL AS integer), at FROM (SELECT min(due_at) AS at FROM fire \
               WHERE verdict = 'pending' AND claimed_by IS NULL \
                 AND queue_position IS NULL{}) waits WHERE at IS NOT NULL \
             UNION ALL \
             SELECT CAST(NULL AS integer), at FROM (SELECT min(paused_until) AS at FROM schedule \
               WHERE paused_until IS NOT NULL AND NOT enabled \
                 AND deleted_at IS NULL) pauses WHERE at IS NOT NULL",
            some("<="),
            some(">"),
            self.dialect().pending_fires("scheduled_at", now, RowsSince::Margin)
        );
        let rows = DueCursor::find_by_statement(self.dialect().statement(sql, values));
        let ahead = |row: DueCursor| CursorAhead {
            shard: row.shard.and_then(|shard| u8::try_from(shard).ok()),
            at: Timestamp(row.at),
        };
        Ok(rows.all(self.rounds()).await?.into_iter().map(ahead).collect())
    }
}
