//! Pauses that should be over, and whose maintenance window has a later end by now.
//!
//! A new end of a window is written to its pauses in several transactions. Until that is done, such
//! pauses must not end.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, rows::KeyRow},
    ledger::pauses::{GOES_ON, IS_OVER, later},
};

impl Store {
    /// Those of these schedules whose window ends after `now`.
    pub async fn pauses_going_on(
        &self,
        schedules: &[Uuid],
        now: Timestamp,
    ) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "SELECT id FROM schedule WHERE id IN (SELECT late FROM v) AND {}",
            GOES_ON.replace("$1", "{0}")
        );
        let statement = of(schedules).statement(self.dialect(), &sql, vec![now.0.into()]);
        let rows = KeyRow::find_by_statement(statement).all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// Writes the end of its window to each of these pauses that should have ended by `now`
    /// although the window ends later. Schedules that others have locked are skipped. Returns their
    /// number.
    pub async fn extend_pauses(
        &self,
        tx: &DatabaseTransaction,
        schedules: &[Uuid],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT id FROM schedule WHERE id IN (SELECT late FROM v) AND {} ORDER BY id {}",
            IS_OVER.replace("$1", "{0}"),
            self.dialect().skip_locked("schedule")
        );
        let statement = of(schedules).statement(self.dialect(), &sql, vec![now.0.into()]);
        let locked = KeyRow::find_by_statement(statement).all(tx).await?;
        let locked: Vec<Uuid> = locked.into_iter().map(|row| row.id).collect();
        if locked.is_empty() {
            return Ok(0);
        }
        // The windows are read only now that the schedules are locked, and are not locked
        // themselves. If a window is changed or cancelled after this, the service waits for the
        // schedules, and writes what is true then.
        let sql = format!(
            "UPDATE schedule SET paused_until = w.ends_at, updated_at = {}, changed = {} \
             FROM v, maintenance_window w WHERE schedule.id = v.late \
               AND w.id = schedule.paused_window_id AND w.is_open AND w.state = 'active' \
               AND w.ends_at > {{0}}",
            later("{0}"),
            self.dialect().stamp("schedule")
        );
        let statement = of(&locked).statement(self.dialect(), &sql, vec![now.0.into()]);
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }
}

fn of(schedules: &[Uuid]) -> BulkValues {
    BulkValues::default().uuid("late", schedules.iter().copied())
}
