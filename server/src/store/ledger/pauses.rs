//! Begins automatic pauses, and ends pauses.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::claims::{DUE_COLUMNS, DueSchedule};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, rows::KeyRow},
};

/// Beginning of the reason why the server paused a schedule. Health checks recognise it.
pub(in crate::store) const UNREADABLE: &str = "its timing can no longer be read: ";

/// How a pause ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEnding {
    /// At the end that was set for it.
    Automatic,
    /// A user resumes the schedule.
    ByHand,
}

/// The cursor of a schedule that has no instants left: the end of the year 9999.
const NEVER: i64 = 253_402_300_799_000;

/// The condition for a pause that should have ended by `$1`. A partial index has its first part.
pub(in crate::store) const IS_OVER: &str = "paused_until IS NOT NULL AND paused_until <= $1 \
    AND NOT enabled AND deleted_at IS NULL";

/// The condition that the maintenance window that holds a schedule ends after `$1`. If the pause
/// should have ended by then, it does not have the window's new end yet.
pub(in crate::store) const GOES_ON: &str = "paused_window_id IS NOT NULL AND paused_window_id IN \
    (SELECT id FROM maintenance_window WHERE is_open AND state = 'active' AND ends_at > $1)";

/// The columns of [`DueSchedule`]; a missing cursor becomes one that is never reached.
fn columns_with_cursor() -> String {
    DUE_COLUMNS.replace(
        "next_scheduled_at",
        &format!("coalesce(next_scheduled_at, {NEVER}) AS next_scheduled_at"),
    )
}

/// The time of a change to a schedule. It is later than that of the previous change, even if a
/// clock was set back, because it shows the instant from which the cursor was computed.
pub(in crate::store) fn later(now: &str) -> String {
    format!("CASE WHEN updated_at >= {now} THEN updated_at + 1 ELSE {now} END")
}

impl Store {
    /// Pauses a schedule whose saved timing can no longer be parsed.
    pub async fn pause_broken(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        problem: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "UPDATE schedule SET enabled = false, paused_reason = $2, paused_by = 'carillon', \
               paused_at = $3, paused_until = NULL, paused_missed = NULL, \
               paused_window_id = NULL, updated_at = {}, \
               changed = {} WHERE id = $1",
            later("$3"),
            self.dialect().stamp("schedule")
        );
        let reason = format!("{UNREADABLE}{problem}");
        let values = [schedule.into(), reason.into(), now.0.into()];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(())
    }

    /// A paused schedule, locked until the transaction ends.
    /// If it has no cursor, it gets one that is never reached.
    pub async fn lock_paused_schedule(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
    ) -> Result<Option<DueSchedule>, StoreError> {
        let lock = if self.dialect().is_postgres() { "FOR UPDATE" } else { "" };
        self.with_cursor(tx, schedule, &format!("AND NOT enabled {lock}")).await
    }

    /// A schedule that is not deleted, paused or not. The transaction may have locked it, or may
    /// only read it. If it has no cursor, it gets one that is never reached.
    pub async fn schedule_with_cursor<C: ConnectionTrait>(
        &self,
        connection: &C,
        schedule: Uuid,
    ) -> Result<Option<DueSchedule>, StoreError> {
        self.with_cursor(connection, schedule, "").await
    }

    /// The schedules with these keys that are not deleted, in no particular order. Those without a
    /// cursor get one that is never reached.
    pub async fn schedules_with_cursor<C: ConnectionTrait>(
        &self,
        connection: &C,
        schedules: &[Uuid],
    ) -> Result<Vec<DueSchedule>, StoreError> {
        let columns = columns_with_cursor();
        let sql = format!(
            "SELECT {columns} FROM schedule \
             WHERE id IN (SELECT id FROM v) AND deleted_at IS NULL"
        );
        let keys = BulkValues::default().uuid("id", schedules.iter().copied());
        let statement = keys.statement(self.dialect(), &sql, vec![]);
        Ok(DueSchedule::find_by_statement(statement).all(connection).await?)
    }

    async fn with_cursor<C: ConnectionTrait>(
        &self,
        connection: &C,
        schedule: Uuid,
        more: &str,
    ) -> Result<Option<DueSchedule>, StoreError> {
        let columns = columns_with_cursor();
        let sql =
            format!("SELECT {columns} FROM schedule WHERE id = $1 AND deleted_at IS NULL {more}");
        let statement = self.dialect().statement(sql, [schedule.into()]);
        Ok(DueSchedule::find_by_statement(statement).one(connection).await?)
    }

    /// Ends the pause of a schedule that this transaction has locked. The maintenance window that
    /// began the pause stays noted, so that the window does not pause the schedule again.
    ///
    /// If another window has begun in the meantime, an automatic end leaves the schedule to it: that
    /// pause begins where this one ends. A resume by hand is also the end of that window.
    pub async fn enable(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        ending: PauseEnding,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let planned = match ending {
            PauseEnding::Automatic => {
                "pause_from = CASE WHEN pause_from < paused_until THEN paused_until \
                   ELSE pause_from END"
            }
            PauseEnding::ByHand => {
                "paused_window_id = CASE WHEN pause_from <= $2 THEN pause_window_id \
                   ELSE paused_window_id END, \
                 pause_window_id = CASE WHEN pause_from > $2 THEN pause_window_id END, \
                 pause_from = CASE WHEN pause_from > $2 THEN pause_from END"
            }
        };
        let sql = format!(
            "UPDATE schedule SET enabled = true, paused_reason = NULL, paused_by = NULL, \
               paused_at = NULL, paused_until = NULL, paused_missed = NULL, {planned}, \
               updated_at = {}, changed = {} WHERE id = $1",
            later("$2"),
            self.dialect().stamp("schedule")
        );
        tx.execute_raw(self.dialect().statement(sql, [schedule.into(), now.0.into()])).await?;
        Ok(())
    }

    /// Schedules whose pause should have ended by `now`, longest overdue first: at most `limit`.
    /// Some may be held by a maintenance window that has a later end by now.
    pub async fn pauses_over(&self, now: Timestamp, limit: u64) -> Result<Vec<Uuid>, StoreError> {
        self.find_pauses_over(self.rounds(), now, limit, "", "").await
    }

    /// Locks schedules whose pause should have ended by `now`, and that no maintenance window holds
    /// for longer. Skips those that others have locked.
    pub async fn lock_pauses_over(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let ended = format!("AND NOT ({GOES_ON})");
        self.find_pauses_over(tx, now, limit, &ended, &self.dialect().skip_locked("schedule")).await
    }

    /// Locks a schedule if its pause should have ended by `now`, and no maintenance window holds it
    /// for longer.
    /// Returns false if the pause goes on, or if another transaction has locked the schedule.
    pub async fn lock_pause_if_over(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let lock = self.dialect().skip_locked("schedule");
        let sql = format!(
            "SELECT id FROM schedule WHERE id = $2 AND {IS_OVER} AND NOT ({GOES_ON}) {lock}"
        );
        let statement = self.dialect().statement(sql, [now.0.into(), schedule.into()]);
        Ok(KeyRow::find_by_statement(statement).one(tx).await?.is_some())
    }

    async fn find_pauses_over<C: ConnectionTrait>(
        &self,
        connection: &C,
        now: Timestamp,
        limit: u64,
        more: &str,
        lock: &str,
    ) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "SELECT id FROM schedule WHERE {IS_OVER} {more} ORDER BY paused_until LIMIT $2 {lock}"
        );
        let values = [now.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        let rows = KeyRow::find_by_statement(statement).all(connection).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}
