//! The amount of history in each namespace, for its quotas of rows and of log bytes.
//!
//! History is counted in periods of ten minutes, separately for each retention that schedules
//! of the namespace have. So a period stops counting when retention has removed it.
//! Fires are read once by their keys, and settled runs with their attempts from the change feed.
//! Log bytes are added by the nodes that wrote them. Firing itself writes nothing extra.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::stats::SettledRun;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, MAX_ROWS},
        days::{DAY_MS, DayRange, first_key, made_at},
        rows::KeyRow,
    },
};

/// The length of a period in milliseconds.
pub const PERIOD_MS: i64 = 600_000;

/// A period, for rows that are kept equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period {
    /// The namespace of the rows.
    pub namespace_id: Uuid,
    /// When the period starts.
    pub period: Timestamp,
    /// The retention of the rows' schedules in days; 0 if these have none of their own.
    pub days: i32,
}

/// The number of history rows in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct PeriodRows {
    /// When the period starts.
    pub period: Timestamp,
    /// The retention of the rows' schedules in days; 0 if these have none of their own.
    pub days: i32,
    /// Number of fires, runs and attempts.
    pub row_count: i64,
}

/// The amount of history in a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct History {
    /// Number of fires, runs and attempts.
    pub row_count: i64,
    /// Number of bytes of log lines.
    pub log_bytes: i64,
}

/// The bytes of log lines that a node has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLog {
    /// The name of the namespace.
    pub namespace: String,
    /// The schedule, if the run had one.
    pub schedule_id: Option<Uuid>,
    /// Number of bytes.
    pub bytes: i64,
}

/// The fires of a batch, counted by period, and the key of the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedFires {
    /// The number of fires in each period.
    pub rows: BTreeMap<Period, i64>,
    /// The key after which counting continues.
    pub last: Uuid,
    /// Number of fires in the batch.
    pub count: usize,
}

/// Maximum number of entries that one statement adds to the counts of log bytes.
pub const LOG_BATCH: usize = MAX_ROWS;

/// The name under which the position of counted fires is stored.
const FEED: &str = "fire";

/// The start of the period that contains an instant.
pub fn period_of(at: Timestamp) -> Timestamp {
    Timestamp(at.0 - at.0.rem_euclid(PERIOD_MS))
}

impl Store {
    /// The key of the last fire that was counted; nil if none was counted yet.
    pub async fn fires_counted_until(&self) -> Result<Uuid, StoreError> {
        let sql = "SELECT id FROM stat_position WHERE feed = $1";
        let statement = self.dialect().statement(sql, [FEED.into()]);
        let row = KeyRow::find_by_statement(statement).one(self.rounds()).await?;
        Ok(row.map_or(Uuid::nil(), |row| row.id))
    }

    /// The fires after `after` that were claimed before
    /// `until`, up to `limit`; `None` if there are none.
    pub async fn fires_between(
        &self,
        after: Uuid,
        until: Timestamp,
        limit: u64,
    ) -> Result<Option<CountedFires>, StoreError> {
        #[derive(FromQueryResult)]
        struct FireRow {
            id: Uuid,
            namespace_id: Uuid,
            days: Option<i32>,
        }
        let sql = "SELECT t.id, t.namespace_id, s.retention_days AS days \
             FROM (SELECT id, namespace_id, schedule_id FROM fire \
               WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3) t \
             LEFT JOIN schedule s ON s.id = t.schedule_id ORDER BY t.id";
        let values = [after.into(), first_key(until.0).into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        let found = FireRow::find_by_statement(statement).all(self.rounds()).await?;
        let Some(last) = found.last().map(|row| row.id) else { return Ok(None) };
        let mut rows = BTreeMap::new();
        for row in &found {
            let period = period_of(Timestamp(made_at(row.id)));
            let days = row.days.unwrap_or_default();
            *rows.entry(Period { namespace_id: row.namespace_id, period, days }).or_default() += 1;
        }
        Ok(Some(CountedFires { rows, last, count: found.len() }))
    }

    /// Adds counted fires and moves the position, unless another node has already counted beyond
    /// `after`. Returns whether it did.
    pub async fn add_fires_if_at(
        &self,
        tx: &DatabaseTransaction,
        after: Uuid,
        fires: &CountedFires,
    ) -> Result<bool, StoreError> {
        let values = [FEED.into(), fires.last.into(), after.into()];
        let moved = match after.is_nil() {
            true => self.dialect().statement(
                "INSERT INTO stat_position (feed, changed, id) VALUES ($1, 0, $2) \
                 ON CONFLICT (feed) DO NOTHING",
                values.into_iter().take(2),
            ),
            false => self
                .dialect()
                .statement("UPDATE stat_position SET id = $2 WHERE feed = $1 AND id = $3", values),
        };
        if tx.execute_raw(moved).await?.rows_affected() == 0 {
            return Ok(false);
        }
        self.add_history(tx, &fires.rows).await?;
        Ok(true)
    }

    /// The number of rows of settled runs and their attempts, by period.
    pub async fn rows_of_settled(
        &self,
        runs: &[SettledRun],
    ) -> Result<BTreeMap<Period, i64>, StoreError> {
        #[derive(FromQueryResult)]
        struct CountedRun {
            id: Uuid,
            days: Option<i32>,
            attempts: i64,
        }
        let mut rows = BTreeMap::new();
        for part in runs.chunks(MAX_ROWS) {
            let ids = || part.iter().map(|run| run.id);
            let statement = BulkValues::default()
                .uuid("id", ids())
                .uuid("schedule_id", part.iter().map(|run| run.schedule_id))
                .days(DayRange::of_keys("a.run_id", ids()))
                .statement(
                    self.dialect(),
                    "SELECT v.id, s.retention_days AS days, (SELECT count(*) FROM task_run a \
                       WHERE a.run_id = v.id {days}) AS attempts \
                     FROM v LEFT JOIN schedule s ON s.id = v.schedule_id",
                    vec![],
                );
            let found = CountedRun::find_by_statement(statement).all(self.rounds()).await?;
            let found: BTreeMap<Uuid, CountedRun> =
                found.into_iter().map(|row| (row.id, row)).collect();
            for run in part {
                let row = found.get(&run.id);
                let days = row.and_then(|row| row.days).unwrap_or_default();
                let (namespace_id, period) = (run.namespace_id, period_of(run.finished_at));
                let attempts = row.map_or(0, |row| row.attempts);
                *rows.entry(Period { namespace_id, period, days }).or_default() += 1 + attempts;
            }
        }
        Ok(rows)
    }

    /// Adds to the rows of periods. Every statement that changes several of these rows does so in
    /// the order of their keys, because otherwise two statements could wait for each other.
    pub async fn add_history(
        &self,
        tx: &DatabaseTransaction,
        rows: &BTreeMap<Period, i64>,
    ) -> Result<(), StoreError> {
        let rows: Vec<(&Period, &i64)> = rows.iter().collect();
        for part in rows.chunks(MAX_ROWS) {
            let statement = BulkValues::default()
                .uuid("namespace_id", part.iter().map(|(at, _)| at.namespace_id))
                .int("period", part.iter().map(|(at, _)| at.period.0))
                .int("days", part.iter().map(|(at, _)| i64::from(at.days)))
                .int("row_count", part.iter().map(|(_, count)| **count))
                .statement(
                    self.dialect(),
                    "INSERT INTO history_stat (namespace_id, period, days, row_count) \
                     SELECT namespace_id, period, days, row_count FROM v WHERE true \
                     ORDER BY namespace_id, period, days \
                     ON CONFLICT (namespace_id, period, days) DO UPDATE \
                       SET row_count = history_stat.row_count + excluded.row_count",
                    vec![],
                );
            tx.execute_raw(statement).await?;
        }
        Ok(())
    }

    /// Adds bytes of log lines that this node has written to the period that contains `now`: at
    /// most [`LOG_BATCH`] entries at once.
    pub async fn add_log_bytes(
        &self,
        tx: &DatabaseTransaction,
        written: &[WrittenLog],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if written.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .text("name", written.iter().map(|row| row.namespace.clone()))
            .uuid("schedule_id", written.iter().map(|row| row.schedule_id))
            .int("bytes", written.iter().map(|row| row.bytes))
            .statement(
                self.dialect(),
                "INSERT INTO history_stat (namespace_id, period, days, log_bytes) \
                 SELECT n.id, CAST({0} AS bigint), coalesce(s.retention_days, 0), CAST(sum(v.bytes) AS bigint) \
                 FROM v JOIN namespace n ON n.name = v.name \
                   LEFT JOIN schedule s ON s.id = v.schedule_id \
                 WHERE true GROUP BY n.id, coalesce(s.retention_days, 0) \
                 ORDER BY n.id, coalesce(s.retention_days, 0) \
                 ON CONFLICT (namespace_id, period, days) DO UPDATE \
                   SET log_bytes = history_stat.log_bytes + excluded.log_bytes",
                vec![period_of(now).0.into()],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// The periods of a namespace that still count at `now`, oldest first.
    /// `usual` is the retention of a namespace without its own.
    pub async fn history_periods(
        &self,
        namespace: Uuid,
        usual: i32,
        now: DateTime<Utc>,
    ) -> Result<Vec<PeriodRows>, StoreError> {
        let sql = format!(
            "SELECT h.period, h.days, h.row_count FROM history_stat h \
               JOIN namespace n ON n.id = h.namespace_id \
             WHERE h.namespace_id = $1 AND {} ORDER BY h.period, h.days",
            kept("$2", "$3")
        );
        let values = [namespace.into(), now.timestamp_millis().into(), usual.into()];
        let statement = self.dialect().statement(sql, values);
        Ok(PeriodRows::find_by_statement(statement).all(self.read()).await?)
    }

    /// The amount of history in a namespace at `now`.
    /// `usual` is the retention of a namespace without its own.
    pub async fn history_of(
        &self,
        namespace: Uuid,
        usual: i32,
        now: DateTime<Utc>,
    ) -> Result<History, StoreError> {
        let sql = format!(
            "SELECT CAST(coalesce(sum(h.row_count), 0) AS bigint) AS row_count, \
               CAST(coalesce(sum(h.log_bytes), 0) AS bigint) AS log_bytes \
             FROM history_stat h JOIN namespace n ON n.id = h.namespace_id \
             WHERE h.namespace_id = $1 AND {}",
            kept("$2", "$3")
        );
        let values = [namespace.into(), now.timestamp_millis().into(), usual.into()];
        let statement = self.dialect().statement(sql, values);
        Ok(History::find_by_statement(statement).one(self.read()).await?.unwrap_or_default())
    }

    /// The number of history rows in these namespaces at `now`. Namespaces without rows are left
    /// out. `usual` is the retention of a namespace without its own.
    pub async fn history_rows(
        &self,
        namespaces: &[Uuid],
        usual: i32,
        now: DateTime<Utc>,
    ) -> Result<BTreeMap<Uuid, i64>, StoreError> {
        #[derive(FromQueryResult)]
        struct NamespaceRows {
            id: Uuid,
            row_count: i64,
        }
        let of_period = kept("{0}", "{1}");
        let sql = format!(
            "SELECT n.id, CAST(sum(h.row_count) AS bigint) AS row_count \
             FROM v JOIN namespace n ON n.id = v.id \
               JOIN history_stat h ON h.namespace_id = n.id AND {of_period} \
             WHERE true GROUP BY n.id"
        );
        let mut rows = BTreeMap::new();
        for part in namespaces.chunks(MAX_ROWS) {
            let values = vec![now.timestamp_millis().into(), usual.into()];
            let statement = BulkValues::default().uuid("id", part.iter().copied());
            let statement = statement.statement(self.dialect(), &sql, values);
            let found = NamespaceRows::find_by_statement(statement).all(self.read()).await?;
            rows.extend(found.into_iter().map(|row| (row.id, row.row_count)));
        }
        Ok(rows)
    }

    /// The size of the log lines in these namespaces at `now`, by the namespace's name.
    pub async fn log_bytes_kept(
        &self,
        namespaces: &[Uuid],
        usual: i32,
        now: DateTime<Utc>,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        #[derive(FromQueryResult)]
        struct NamespaceLogBytes {
            name: String,
            log_bytes: i64,
        }
        if namespaces.is_empty() {
            return Ok(Vec::new());
        }
        let of_period = kept("{0}", "{1}");
        let sql = format!(
            "SELECT n.name, CAST(coalesce(sum(h.log_bytes), 0) AS bigint) AS log_bytes \
             FROM v JOIN namespace n ON n.id = v.id \
               LEFT JOIN history_stat h ON h.namespace_id = n.id AND {of_period} \
             WHERE true GROUP BY n.name"
        );
        let values = vec![now.timestamp_millis().into(), usual.into()];
        let statement = BulkValues::default().uuid("id", namespaces.iter().copied());
        let statement = statement.statement(self.dialect(), &sql, values);
        let rows = NamespaceLogBytes::find_by_statement(statement).all(self.read()).await?;
        Ok(rows.into_iter().map(|row| (row.name, row.log_bytes)).collect())
    }

    /// Number of bytes in a run's log lines.
    pub async fn log_bytes_of_run(&self, run: Uuid) -> Result<i64, StoreError> {
        #[derive(FromQueryResult)]
        struct RunLogBytes {
            bytes: i64,
        }
        let sql = "SELECT CAST(coalesce(sum(octet_length(text)), 0) AS bigint) AS bytes \
             FROM task_log WHERE run_id = $1";
        let statement = self.dialect().statement(sql, [run.into()]);
        Ok(RunLogBytes::find_by_statement(statement)
            .one(self.read())
            .await?
            .map_or(0, |row| row.bytes))
    }
}

/// The condition that a period still counts, with the parameters for the current time and for the
/// retention of a namespace without its own.
fn kept(now: &str, usual: &str) -> String {
    format!(
        "h.period > {now} - (CASE WHEN h.days > 0 THEN h.days \
           ELSE coalesce(n.retention_days, {usual}) END) * CAST({DAY_MS} AS bigint)"
    )
}
