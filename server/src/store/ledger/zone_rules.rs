//! The release of the zone data by which all nodes compute cursors.
//!
//! A transaction that moves a cursor by its zone's rules checks that the release is still in use.
//! On PostgreSQL, the answer holds until that transaction ends.
//! So a change of the release waits for transactions that compute by the old one.

use entity::{Timestamp, zone_rules};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult};
use uuid::Uuid;

use super::claims::{DUE_COLUMNS, DueSchedule};
use crate::store::{
    DatabaseTransaction, Dialect, Store, StoreError,
    db::{bulk::BulkValues, rows::KeyRow},
};

/// A schedule whose cursor depends on its zone's rules.
#[derive(Clone, Debug, FromQueryResult)]
pub struct ZonedCursor {
    /// The schedule, with its cursor.
    #[sea_orm(nested)]
    pub schedule: DueSchedule,
    /// The last instant that has a row.
    pub last_fire_at: Option<Timestamp>,
}

/// A cursor that has another position under other rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedCursor {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The version of the schedule for which the position was computed.
    pub version: i32,
    /// The old position of the cursor.
    pub from: Timestamp,
    /// The new position of the cursor.
    pub to: Option<Timestamp>,
    /// When the planner claims the instant at the new position.
    pub fire_at: Option<Timestamp>,
}

/// The condition that the nodes schedule by a release other than the one in `column`.
/// If they do not, that stays so until the transaction ends.
pub(in crate::store) fn is_other(dialect: &Dialect, column: &str) -> String {
    let lock = dialect.share();
    let theirs = format!("SELECT zone_data FROM zone_rules WHERE id = 1 {lock}");
    format!("coalesce(({theirs}), {column}) <> {column}")
}

impl Store {
    /// The release by which the nodes schedule; `None` before the first node starts.
    pub async fn zone_rules(&self) -> Result<Option<zone_rules::Model>, StoreError> {
        Ok(zone_rules::Entity::find_by_id(1).one(self.read()).await?)
    }

    /// The release by which the nodes schedule, if it is not `own`.
    /// The answer holds until the transaction ends.
    pub async fn other_zone_rules(
        &self,
        tx: &DatabaseTransaction,
        own: &str,
    ) -> Result<Option<String>, StoreError> {
        #[derive(FromQueryResult)]
        struct ReleaseRow {
            zone_data: String,
        }
        let lock = self.dialect().share();
        let sql = format!("SELECT zone_data FROM zone_rules WHERE id = 1 {lock}");
        let row = ReleaseRow::find_by_statement(self.dialect().statement(sql, [])).one(tx).await?;
        Ok(row.map(|row| row.zone_data).filter(|theirs| theirs != own))
    }

    /// Sets the release by which the nodes schedule. No cursor has been checked by it yet.
    pub async fn set_zone_rules(&self, zone_data: &str) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let sql = "INSERT INTO zone_rules (id, zone_data) VALUES (1, $1) \
            ON CONFLICT (id) DO UPDATE SET zone_data = excluded.zone_data, checked_at = NULL \
            WHERE zone_rules.zone_data <> excluded.zone_data";
        tx.execute_raw(self.dialect().statement(sql, [zone_data.into()])).await?;
        self.commit_unseen(tx).await
    }

    /// Records that all cursors have been checked by this release, if the release is still in use.
    pub async fn zone_rules_checked(
        &self,
        tx: &DatabaseTransaction,
        zone_data: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE zone_rules SET checked_at = $2 WHERE id = 1 AND zone_data = $1";
        let values = [zone_data.into(), now.0.into()];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(())
    }

    /// The last of the next `limit` schedules after a key; `None` if fewer are left.
    pub async fn page_end(&self, after: Uuid, limit: u64) -> Result<Option<Uuid>, StoreError> {
        let sql = "SELECT id FROM schedule WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2";
        let values = [after.into(), limit.saturating_sub(1).cast_signed().into()];
        let row = KeyRow::find_by_statement(self.dialect().statement(sql, values));
        Ok(row.one(self.read()).await?.map(|row| row.id))
    }

    /// The schedules after a key, up to another key or the last one, that are not deleted and have
    /// a cursor and a zone whose rules may change.
    pub async fn placed_by_zones(
        &self,
        after: Uuid,
        until: Option<Uuid>,
    ) -> Result<Vec<ZonedCursor>, StoreError> {
        let sql = format!(
            "SELECT {DUE_COLUMNS}, last_fire_at FROM schedule WHERE id > $1 AND id <= $2 \
               AND next_scheduled_at IS NOT NULL AND deleted_at IS NULL AND zone <> 'UTC' \
             ORDER BY id"
        );
        let values = [after.into(), until.unwrap_or(Uuid::max()).into()];
        let rows = ZonedCursor::find_by_statement(self.dialect().statement(sql, values));
        Ok(rows.all(self.read()).await?)
    }

    /// Moves cursors that have not been moved in the meantime. Returns their number.
    pub async fn replace_cursors(
        &self,
        tx: &DatabaseTransaction,
        cursors: &[MovedCursor],
    ) -> Result<u64, StoreError> {
        if cursors.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "UPDATE schedule SET next_scheduled_at = v.to_at, next_fire_at = v.fire_at, \
               changed = {} \
             FROM v WHERE schedule.id = v.id AND schedule.version = v.version \
               AND schedule.next_scheduled_at = v.from_at",
            self.dialect().stamp("schedule")
        );
        let statement = BulkValues::default()
            .uuid("id", cursors.iter().map(|cursor| cursor.schedule_id))
            .int("version", cursors.iter().map(|cursor| i64::from(cursor.version)))
            .int("from_at", cursors.iter().map(|cursor| cursor.from.0))
            .int("to_at", cursors.iter().map(|cursor| cursor.to.map(|at| at.0)))
            .int("fire_at", cursors.iter().map(|cursor| cursor.fire_at.map(|at| at.0)))
            .statement(self.dialect(), &sql, vec![]);
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }
}
