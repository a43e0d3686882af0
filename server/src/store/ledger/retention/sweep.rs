//! Deletes rows that are too old, one chunk per transaction. The rows are found before the writer
//! is taken, so that the writer is held only while they are deleted.

use std::collections::HashSet;

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::RetentionRule;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::BulkValues,
        days::{DayRange, first_key},
    },
};

/// A run that is too old.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct OldRun {
    /// The run's key.
    pub id: Uuid,
    /// The size of the run's contents in bytes.
    pub bytes: i64,
}

/// The key of a fire, and the instant that determines its day.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct FireKey {
    /// The fire's key.
    pub id: Uuid,
    /// The fire's instant.
    pub scheduled_at: Timestamp,
}

/// The rows of a run besides its own, in the order in which they are removed.
/// After a crash in between, the run's own row is still there, so the rest can be found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPart {
    /// The log lines of its attempts.
    Lines,
    /// The run's attempts.
    Attempts,
}

/// The key of a row that belongs to a run.
#[derive(Clone, Debug, FromQueryResult)]
pub struct PartKey {
    /// The key of the run.
    pub run_id: Uuid,
    /// The task that was attempted.
    pub task: String,
    /// The number of the attempt or of the line.
    pub number: i64,
    /// The size of the row's contents in bytes.
    pub bytes: i64,
}

impl RunPart {
    /// The name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Self::Lines => "task_log",
            Self::Attempts => "task_run",
        }
    }
}

impl Store {
    /// Copies SQLite's WAL into the database file (a checkpoint), without delaying
    /// other transactions. By default, SQLite does this within the commit that makes
    /// the WAL long: that of a chunk, or of a fire.
    pub async fn settle_log(&self) -> Result<(), StoreError> {
        if !self.dialect().is_postgres() {
            self.read().execute_unprepared("PRAGMA wal_checkpoint(PASSIVE)").await?;
        }
        Ok(())
    }

    /// Runs after `after` that are too old, in order of their keys.
    pub async fn old_runs(
        &self,
        rule: &RetentionRule,
        after: Uuid,
        limit: u64,
    ) -> Result<Vec<OldRun>, StoreError> {
        // A run settles after it was created, so its key bounds the search.
        let sql = format!(
            "SELECT t.id, {} AS bytes FROM run t {} \
             WHERE t.id > $1 AND t.id < $2 AND {} ORDER BY t.id LIMIT $3",
            self.size_of("t.context"),
            rule.joins(),
            rule.run_is_old()
        );
        let values = [after.into(), first_key(rule.reach()).into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(OldRun::find_by_statement(statement).all(self.read()).await?)
    }

    /// The SQL expression for the size of a column, which is computed without reading the column.
    fn size_of(&self, column: &str) -> String {
        let size = if self.dialect().is_postgres() { "pg_column_size" } else { "octet_length" };
        format!("CAST(coalesce({size}({column}), 0) AS bigint)")
    }

    /// Fires after `after` that are too old, in order of their keys. Also returns a change stamp
    /// that was read before the fires: a run with this stamp or a later one has been written since
    /// then, for example because it was repeated.
    pub async fn old_fires(
        &self,
        rule: &RetentionRule,
        after: Uuid,
        limit: u64,
    ) -> Result<(Vec<FireKey>, i64), StoreError> {
        let since = self.next_stamp_of_runs().await?;
        let sql = format!(
            "SELECT t.id, t.scheduled_at FROM fire t {} WHERE t.id > $1 AND t.id < $2 \
               AND t.scheduled_at < $3 AND {} ORDER BY t.id LIMIT $4",
            rule.joins(),
            rule.fire_is_old()
        );
        let values = [
            after.into(),
            first_key(rule.reach()).into(),
            rule.reach().into(),
            limit.cast_signed().into(),
        ];
        let statement = self.dialect().statement(sql, values);
        Ok((FireKey::find_by_statement(statement).all(self.read()).await?, since))
    }

    /// A stamp that is not greater than the stamp of any run that is written later.
    async fn next_stamp_of_runs(&self) -> Result<i64, StoreError> {
        #[derive(FromQueryResult)]
        struct StampRow {
            stamp: i64,
        }
        let dialect = self.dialect();
        let stamp = match dialect.is_postgres() {
            true => dialect.horizon().to_owned(),
            false => dialect.stamp("run"),
        };
        let row =
            StampRow::find_by_statement(dialect.statement(format!("SELECT {stamp} AS stamp"), []));
        Ok(row.one(self.read()).await?.map_or(0, |row| row.stamp))
    }

    /// Up to `limit` rows that belong to these settled runs.
    pub async fn parts_of(
        &self,
        part: RunPart,
        runs: &[Uuid],
        limit: u64,
    ) -> Result<Vec<PartKey>, StoreError> {
        let (columns, text) = match part {
            RunPart::Lines => ("'' AS task, p.seq AS number", "p.text"),
            RunPart::Attempts => ("p.task, CAST(p.attempt AS bigint) AS number", "p.output"),
        };
        let sql = format!(
            "SELECT p.run_id, {columns}, {} AS bytes FROM v JOIN {} p ON p.run_id = v.id \
             WHERE true {{days}} LIMIT {{0}}",
            self.size_of(text),
            part.table()
        );
        let statement = BulkValues::default()
            .uuid("id", runs.iter().copied())
            .days(DayRange::of_keys("p.run_id", runs.iter().copied()))
            .statement(self.dialect(), &sql, vec![limit.cast_signed().into()]);
        Ok(PartKey::find_by_statement(statement).all(self.read()).await?)
    }

    /// Deletes rows of settled runs. Returns their number.
    pub async fn delete_parts(
        &self,
        tx: &DatabaseTransaction,
        part: RunPart,
        keys: &[PartKey],
    ) -> Result<u64, StoreError> {
        if keys.is_empty() {
            return Ok(0);
        }
        let runs = || keys.iter().map(|key| key.run_id);
        let rows = BulkValues::default().uuid("run_id", runs());
        let rows = rows.int("number", keys.iter().map(|key| key.number));
        let statement = match part {
            RunPart::Lines => rows.days(DayRange::of_keys("task_log.run_id", runs())).statement(
                self.dialect(),
                "DELETE FROM task_log WHERE (task_log.run_id, task_log.seq) IN ( \
                   SELECT run_id, number FROM v) {days}",
                vec![],
            ),
            RunPart::Attempts => rows
                .text("task", keys.iter().map(|key| key.task.clone()))
                .days(DayRange::of_keys("task_run.run_id", runs()))
                .statement(
                    self.dialect(),
                    "DELETE FROM task_run \
                     WHERE (task_run.run_id, task_run.task, task_run.attempt) IN ( \
                       SELECT run_id, task, number FROM v) {days}",
                    vec![],
                ),
        };
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }

    /// Deletes settled runs. Returns their number.
    pub async fn delete_settled_runs(
        &self,
        tx: &DatabaseTransaction,
        runs: &[Uuid],
    ) -> Result<u64, StoreError> {
        if runs.is_empty() {
            return Ok(0);
        }
        let statement = BulkValues::default()
            .uuid("id", runs.iter().copied())
            .days(DayRange::of_keys("run.id", runs.iter().copied()))
            .statement(
                self.dialect(),
                "DELETE FROM run WHERE run.id IN (SELECT id FROM v) \
                   AND run.state NOT IN ('queued', 'running', 'retrying') {days}",
                vec![],
            );
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }

    /// Deletes those of these fires that are still too old. Returns their number.
    /// Since they were found, a user may have requested a retry of a fire's run,
    /// which then has a stamp from `since` on, or the schedule's cursor may have been moved back.
    pub async fn delete_fires_if_old(
        &self,
        tx: &DatabaseTransaction,
        rule: &RetentionRule,
        fires: &[FireKey],
        since: i64,
    ) -> Result<u64, StoreError> {
        if fires.is_empty() {
            return Ok(0);
        }
        let of = |fires: &[FireKey]| {
            let days = fires.iter().map(|fire| fire.scheduled_at);
            BulkValues::default()
                .uuid("id", fires.iter().map(|fire| fire.id))
                .days(DayRange::of_instants("t.scheduled_at", days))
        };
        let mut free = fires.to_vec();
        if self.dialect().is_postgres() {
            // A request to repeat a run keeps the run's fire locked until it is committed.
            // So no such request is in progress for the fires that are locked here,
            // and the next statement sees all earlier ones.
            let sql = "SELECT t.id, t.scheduled_at FROM v JOIN fire t ON t.id = v.id \
                 WHERE true {days} FOR UPDATE OF t SKIP LOCKED";
            let locked = of(fires).statement(self.dialect(), sql, vec![]);
            free = FireKey::find_by_statement(locked).all(tx).await?;
            if free.is_empty() {
                return Ok(0);
            }
        }
        let still = self.dialect().of_found(&rule.fire_is_still_old(since));
        let sql =
            format!("DELETE FROM fire AS t WHERE t.id IN (SELECT id FROM v) AND {still} {{days}}");
        let statement = of(&free).statement(self.dialect(), &sql, vec![]);
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }

    /// Keeps fires from being removed before `tx` ends, and returns those that exist.
    /// This must be called before another run is started for one of them.
    pub async fn hold_fires(
        &self,
        tx: &DatabaseTransaction,
        fires: &[FireKey],
    ) -> Result<HashSet<Uuid>, StoreError> {
        if fires.is_empty() {
            return Ok(HashSet::new());
        }
        let lock = if self.dialect().is_postgres() { "FOR KEY SHARE OF t" } else { "" };
        let sql = format!(
            "SELECT t.id, t.scheduled_at FROM v JOIN fire t ON t.id = v.id \
             WHERE true {{days}} {lock}"
        );
        let days = fires.iter().map(|fire| fire.scheduled_at);
        let statement = BulkValues::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .days(DayRange::of_instants("t.scheduled_at", days))
            .statement(self.dialect(), &sql, vec![]);
        let rows = FireKey::find_by_statement(statement).all(tx).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}
