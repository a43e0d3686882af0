//! Turns the marks of maintenance windows into pauses, and changes and ends these pauses.

use std::collections::HashMap;

use entity::{Timestamp, maintenance_window::Model};
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, rows::KeyRow},
    ledger::pauses::later,
};

/// A schedule that a window has just paused.
#[derive(Clone, Debug, FromQueryResult)]
pub struct HeldSchedule {
    /// The schedule.
    pub id: Uuid,
    /// The name of the schedule.
    pub name: String,
    /// When the pause began.
    pub pause_from: Timestamp,
}

/// What the pauses of a window say about themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseText {
    /// The reason of the pauses.
    pub reason: String,
    /// When the pauses end.
    pub until: Timestamp,
}

/// The schedules of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Number of schedules that have the mark of the window.
    pub marked: i64,
    /// Number of schedules that the window holds paused.
    pub held: i64,
}

/// The condition that a schedule is paused by the window `$1`.
const HELD: &str = "paused_window_id = $1 AND NOT enabled AND deleted_at IS NULL";

impl Store {
    /// Pauses schedules whose mark of a locked window is due by `now`: at most `limit`. A schedule
    /// that still has an instant to claim from before the pause is left for later, so that the pause
    /// covers no such instant. Schedules that others have locked are skipped.
    pub async fn begin_pauses(
        &self,
        tx: &DatabaseTransaction,
        window: &Model,
        text: &PauseText,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<HeldSchedule>, StoreError> {
        let sql = format!(
            "SELECT id, name, pause_from FROM schedule \
             WHERE pause_window_id = $1 AND pause_from <= $2 AND enabled AND deleted_at IS NULL \
               AND (next_fire_at IS NULL OR next_fire_at >= pause_from) \
             ORDER BY id LIMIT $3 {}",
            self.dialect().skip_locked("schedule")
        );
        let values = [window.id.into(), now.0.into(), limit.cast_signed().into()];
        let found = HeldSchedule::find_by_statement(self.dialect().statement(sql, values));
        let found = found.all(tx).await?;
        if found.is_empty() {
            return Ok(found);
        }
        let sql = format!(
            "UPDATE schedule SET enabled = false, paused_reason = {{0}}, paused_by = {{1}}, \
               paused_at = pause_from, paused_until = {{2}}, paused_missed = {{3}}, \
               paused_window_id = {{4}}, pause_from = NULL, pause_window_id = NULL, \
               updated_at = {}, changed = {} \
             FROM v WHERE schedule.id = v.held",
            later("{5}"),
            self.dialect().stamp("schedule")
        );
        let values = vec![
            text.reason.clone().into(),
            window.planned_by.clone().into(),
            text.until.0.into(),
            window.missed.to_value().into(),
            window.id.into(),
            now.0.into(),
        ];
        let statement = BulkValues::default()
            .uuid("held", found.iter().map(|schedule| schedule.id))
            .statement(self.dialect(), &sql, values);
        tx.execute_raw(statement).await?;
        Ok(found)
    }

    /// Whether schedules have a mark of a window that is due by `now`.
    pub async fn has_due_marks(&self, window: Uuid, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "SELECT id FROM schedule WHERE pause_window_id = $1 AND pause_from <= $2 LIMIT 1";
        let statement = self.dialect().statement(sql, [window.into(), now.0.into()]);
        Ok(KeyRow::find_by_statement(statement).one(self.rounds()).await?.is_some())
    }

    /// Writes the text and the end of the pauses of a locked window where they differ: at most
    /// `limit`. Returns their number.
    pub async fn change_pauses(
        &self,
        tx: &DatabaseTransaction,
        window: Uuid,
        text: &PauseText,
        now: Timestamp,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT id FROM schedule WHERE {HELD} \
               AND (paused_until IS NULL OR paused_until <> $2 OR paused_reason <> $3) \
             ORDER BY id LIMIT $4 {}",
            self.dialect().for_update("schedule")
        );
        let values = [
            window.into(),
            text.until.0.into(),
            text.reason.clone().into(),
            limit.cast_signed().into(),
        ];
        let found = KeyRow::find_by_statement(self.dialect().statement(sql, values));
        let found: Vec<Uuid> = found.all(tx).await?.into_iter().map(|row| row.id).collect();
        if found.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "UPDATE schedule SET paused_reason = {{0}}, paused_until = {{1}}, updated_at = {}, \
               changed = {} FROM v WHERE schedule.id = v.held",
            later("{2}"),
            self.dialect().stamp("schedule")
        );
        let values = vec![text.reason.clone().into(), text.until.0.into(), now.0.into()];
        let statement = BulkValues::default().uuid("held", found.into_iter()).statement(
            self.dialect(),
            &sql,
            values,
        );
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }
}

/// The numbers of schedules of each of these windows.
pub async fn counts(
    store: &Store,
    windows: &[Uuid],
) -> Result<HashMap<Uuid, WindowCounts>, StoreError> {
    #[derive(FromQueryResult)]
    struct CountRow {
        id: Uuid,
        marked: i64,
        held: i64,
    }
    if windows.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = "SELECT w.id, \
           (SELECT count(*) FROM schedule s WHERE s.pause_window_id = w.id) AS marked, \
           (SELECT count(*) FROM schedule s WHERE s.paused_window_id = w.id \
              AND NOT s.enabled AND s.deleted_at IS NULL) AS held \
         FROM v JOIN maintenance_window w ON w.id = v.counted";
    let statement = BulkValues::default().uuid("counted", windows.iter().copied()).statement(
        store.dialect(),
        sql,
        vec![],
    );
    let rows = CountRow::find_by_statement(statement).all(store.read()).await?;
    let counts = |row: CountRow| (row.id, WindowCounts { marked: row.marked, held: row.held });
    Ok(rows.into_iter().map(counts).collect())
}
