//! Reads the schedules that a node is about to claim, before it locks them: for nodes that use
//! locks in Redis to decide which of them goes first.

use std::collections::HashSet;

use entity::Timestamp;
use sea_orm::{FromQueryResult, Statement, Value};
use uuid::Uuid;

use super::claims::{DUE_COLUMNS, DueSchedule, MAX_AHEAD_MS, ShardTurns};
use crate::store::{DatabaseTransaction, Store, StoreError, db::bulk::BulkValues};

/// The condition that a schedule's cursor is before its planned pause. The instants from there on
/// are not claimed: the pause accounts for them, even if it begins late.
pub(in crate::store) const BEFORE_PAUSE: &str = "(pause_from IS NULL OR next_fire_at < pause_from)";

/// A schedule that is due, as a candidate for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Candidate {
    /// The key of the schedule.
    pub id: Uuid,
    /// The schedule's cursor.
    pub at: Timestamp,
}

impl Store {
    /// The schedules that [`Store::lock_due_schedules`] would lock, without locks.
    /// Leaves out those in `long`, which are few and left out for some time, and those in `passed`,
    /// which may be many and are left out only now.
    pub async fn due_candidates(
        &self,
        now: Timestamp,
        turns: Option<ShardTurns<'_>>,
        long: &[Candidate],
        passed: &[Uuid],
        limit: u64,
    ) -> Result<Vec<Candidate>, StoreError> {
        let most = limit.saturating_add(passed.len() as u64);
        let statement = self.due("id, next_fire_at AS at", now, turns, long, most, "");
        let mut due = Candidate::find_by_statement(statement).all(self.rounds()).await?;
        let passed: HashSet<&Uuid> = passed.iter().collect();
        due.retain(|candidate| !passed.contains(&candidate.id));
        due.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(due)
    }

    /// A query for up to `limit` schedules that are due at `now` and that this node may claim.
    pub(in crate::store) fn due(
        &self,
        columns: &str,
        now: Timestamp,
        turns: Option<ShardTurns<'_>>,
        passed: &[Candidate],
        limit: u64,
        lock: &str,
    ) -> Statement {
        let mut values = vec![now.0.into(), limit.cast_signed().into()];
        // No index on shards is used: see docs/decisions/0004.
        let turn = if let Some(turns) = turns {
            values.extend([turns.of_shards.into(), turns.second.0.into(), turns.last.0.into()]);
            "AND next_fire_at <= CASE substr(CAST($3 AS text), shard + 1, 1) \
               WHEN '1' THEN $1 WHEN '2' THEN CAST($4 AS bigint) ELSE CAST($5 AS bigint) END"
        } else {
            ""
        };
        let excluded = excluding(passed, &mut values);
        let sql = format!(
            "SELECT {columns} FROM schedule \
             WHERE enabled AND next_fire_at IS NOT NULL AND next_fire_at <= $1 {turn} {excluded} \
               AND {BEFORE_PAUSE} AND $1 <= (SELECT {}) + {MAX_AHEAD_MS} \
             ORDER BY next_fire_at LIMIT $2 {lock}",
            self.dialect().now()
        );
        self.dialect().statement(sql, values)
    }

    /// The schedules among these that are due at `now`, whichever node owns them.
    /// They are not locked.
    pub async fn due_of(
        &self,
        now: Timestamp,
        schedules: &[Uuid],
    ) -> Result<Vec<Candidate>, StoreError> {
        if schedules.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT schedule.id, schedule.next_fire_at AS at \
             FROM v JOIN schedule ON schedule.id = v.candidate \
             WHERE enabled AND next_fire_at IS NOT NULL AND next_fire_at <= {{0}} \
               AND {BEFORE_PAUSE} \
             ORDER BY next_fire_at"
        );
        let statement = BulkValues::default()
            .uuid("candidate", schedules.iter().copied())
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        Ok(Candidate::find_by_statement(statement).all(self.read()).await?)
    }

    /// The candidates whose cursor has not moved, locked until the transaction ends.
    /// Candidates that another node is just claiming are left out.
    pub async fn lock_if_still_due(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
        candidates: &[Candidate],
    ) -> Result<Vec<DueSchedule>, StoreError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {DUE_COLUMNS} FROM v JOIN schedule \
               ON schedule.id = v.candidate AND schedule.next_fire_at = v.cursor_at \
             WHERE enabled AND {BEFORE_PAUSE} AND {{0}} <= (SELECT {}) + {MAX_AHEAD_MS} \
             ORDER BY next_fire_at {}",
            self.dialect().now(),
            self.dialect().skip_locked("schedule")
        );
        let statement = BulkValues::default()
            .uuid("candidate", candidates.iter().map(|candidate| candidate.id))
            .int("cursor_at", candidates.iter().map(|candidate| candidate.at.0))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        Ok(DueSchedule::find_by_statement(statement).all(tx).await?)
    }
}

/// The condition that leaves out schedules as long as their cursors are at these positions.
/// It is meant for few schedules, because each adds two values to the statement.
pub(in crate::store) fn excluding(passed: &[Candidate], values: &mut Vec<Value>) -> String {
    let mut condition = String::new();
    for Candidate { id, at } in passed {
        values.extend([(*id).into(), at.0.into()]);
        let at = values.len();
        condition.push_str(&format!("AND NOT (id = ${} AND next_fire_at = ${at}) ", at - 1));
    }
    condition
}
