//! Creates and drops the partitions of the ledger on PostgreSQL.
//!
//! A table is a sequence of partitions without gaps: `_past`, one for each stretch of days,
//! and `_beyond`. The two outer ones are small. They contain rows older than the oldest day (such
//! as an instant that was caught up on) or newer than the newest.
//! There is no default partition: with one, PostgreSQL could not read a table in the order of days,
//! and a list of the newest rows would search all partitions.
//!
//! A change locks the table for some milliseconds. It waits only briefly for that lock, because
//! later statements queue behind it. If the lock is not granted, the change is tried again later.

use std::fmt::Write;

use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{
    RetentionRule,
    layout::{Layout, PartitionRange, TableFamily},
};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    cluster::leases::Fence,
    db::rows::{KeyRow, RowCount},
};

/// The result of dropping a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionDrop {
    /// The partition was dropped. It had this many rows, in the order of [`TableFamily::tables`].
    Gone([u64; 3]),
    /// The partition stays: too many of its rows are live, or too young to be removed.
    Needed,
    /// The partition stays for now: the lock was not granted in time, or another node was faster.
    Postponed,
}

/// The contents of a partition that is to be dropped.
#[derive(Debug)]
struct RangeContents {
    /// Rows that were written at or after this stamp may have been missed.
    horizon: i64,
    /// The keys of rows that are live or too young to be removed.
    needed: Vec<Uuid>,
    /// Number of rows, in the order of [`TableFamily::tables`].
    rows: [u64; 3],
}

/// How long a change waits for its lock.
const PATIENCE: &str = "SET LOCAL lock_timeout = '100ms'";
/// The lock that changes of partitions take.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7164777103)";
/// Maximum number of rows that are still needed and are
/// moved out of a partition before it is dropped.
const MAX_MOVED: usize = 1_000;
/// Maximum number of attempts and log lines of the runs that are moved.
const MAX_PARTS: i64 = 10_000;
/// A table up to this size is counted before it is dropped. The rows of a larger one are estimated.
const COUNTED_BYTES: i64 = 64 * 1024 * 1024;

impl Store {
    /// Creates the partition `stretch` at the start of `_beyond`. Returns false if the lock was not
    /// granted. With `seal`, the rows in `_beyond` stay where they are and become the new
    /// partition, which is right if there are many; otherwise they are moved.
    pub async fn add_stretch(
        &self,
        family: TableFamily,
        stretch: PartitionRange,
        seal: bool,
        fence: Option<&Fence>,
    ) -> Result<bool, StoreError> {
        let tx = self.begin().await?;
        if !self.goes_on(&tx, fence).await? {
            return Ok(false);
        }
        let mut sql = String::new();
        for table in family.tables() {
            let (name, column) = (stretch.name(table), family.column(table));
            let (from, to) = (family.bound(stretch.from), family.bound(stretch.to));
            let _ = write!(sql, "ALTER TABLE {table} DETACH PARTITION {table}_beyond;");
            let _ = if seal {
                write!(
                    sql,
                    "ALTER TABLE {table}_beyond RENAME TO {name};
                     CREATE TABLE {table}_beyond PARTITION OF {table}
                       FOR VALUES FROM ({to}) TO (MAXVALUE);
                     INSERT INTO {table}_beyond SELECT * FROM {name} WHERE {column} >= {to};
                     DELETE FROM {name} WHERE {column} >= {to};
                     ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to});"
                )
            } else {
                write!(
                    sql,
                    "CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to});
                     INSERT INTO {name} SELECT * FROM {table}_beyond WHERE {column} < {to};
                     DELETE FROM {table}_beyond WHERE {column} < {to};
                     ALTER TABLE {table} ATTACH PARTITION {table}_beyond
                       FOR VALUES FROM ({to}) TO (MAXVALUE);"
                )
            };
        }
        match self.change(&tx, family, |layout| layout.beyond == stretch.from, &sql).await {
            Ok(true) => {
                tx.commit().await?;
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(error) if error.is_lock_refused() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Drops the oldest partition. First, rows that are live or too young to be removed are moved
    /// to `_past`. If there are many, the partition stays.
    ///
    /// The slow steps are the search for needed rows and the check that `_past` can take them.
    /// They do not block other transactions; the lock is held only
    /// for the changes since then and for the swap.
    pub async fn drop_stretch(
        &self,
        family: TableFamily,
        stretch: PartitionRange,
        rule: &RetentionRule,
        fence: Option<&Fence>,
    ) -> Result<PartitionDrop, StoreError> {
        let Some(found) = self.look_through(family, stretch, rule).await? else {
            return Ok(PartitionDrop::Needed);
        };
        let done = match self.widen_past(family, stretch, fence).await {
            Ok(true) => self.exchange(family, stretch, rule, &found, fence).await,
            Ok(false) => Ok(PartitionDrop::Postponed),
            Err(error) => Err(error),
        };
        match done {
            Err(error) if error.is_lock_refused() => Ok(PartitionDrop::Postponed),
            done => done,
        }
    }

    /// Searches a partition for rows that are still needed; `None` if there are too many.
    async fn look_through(
        &self,
        family: TableFamily,
        stretch: PartitionRange,
        rule: &RetentionRule,
    ) -> Result<Option<RangeContents>, StoreError> {
        #[derive(FromQueryResult)]
        struct HorizonRow {
            horizon: i64,
        }
        let horizon = format!("SELECT {} AS horizon", self.dialect().horizon());
        let horizon = HorizonRow::find_by_statement(self.dialect().statement(horizon, []));
        let horizon = horizon.one(self.read()).await?.map_or(0, |row| row.horizon);
        let needed = self.needed_in(self.read(), family, stretch, rule, "true").await?;
        if needed.len() > MAX_MOVED || self.have_much(self.read(), family, stretch, &needed).await?
        {
            return Ok(None);
        }
        let mut rows = [0; 3];
        for (count, table) in rows.iter_mut().zip(family.tables()) {
            *count = self.count_rows(&stretch.name(table)).await?;
        }
        Ok(Some(RangeContents { horizon, needed, rows }))
    }

    /// Whether the runs of a partition have too many
    /// attempts and log lines to be moved under a lock.
    async fn have_much(
        &self,
        connection: &impl ConnectionTrait,
        family: TableFamily,
        stretch: PartitionRange,
        keys: &[Uuid],
    ) -> Result<bool, StoreError> {
        let keys = listed(keys);
        for table in &family.tables()[1..] {
            let (name, key) = (stretch.name(table), family.column(table));
            let sql = format!(
                "SELECT count(*) AS found FROM (SELECT 1 FROM {name} WHERE {key} IN ({keys}) \
                 LIMIT {}) parts",
                MAX_PARTS + 1
            );
            let row =
                RowCount::find_by_statement(self.dialect().statement(sql, [])).one(connection);
            if row.await?.is_some_and(|row| row.found > MAX_PARTS) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The keys of the rows in a partition that match
    /// `condition` and are live or too young to be removed.
    async fn needed_in(
        &self,
        connection: &impl ConnectionTrait,
        family: TableFamily,
        stretch: PartitionRange,
        rule: &RetentionRule,
        condition: &str,
    ) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "SELECT t.id FROM {} t {} WHERE NOT {} AND {condition} LIMIT {}",
            stretch.name(family.tables()[0]),
            rule.joins(),
            family.is_old(rule),
            MAX_MOVED + 1
        );
        let rows = KeyRow::find_by_statement(self.dialect().statement(sql, [])).all(connection);
        Ok(rows.await?.into_iter().map(|row| row.id).collect())
    }

    /// Whether the node still holds the lease of retention. A round by hand has no lease.
    async fn goes_on(
        &self,
        tx: &DatabaseTransaction,
        fence: Option<&Fence>,
    ) -> Result<bool, StoreError> {
        match fence {
            Some(fence) => self.holds_lease(tx, fence).await,
            None => Ok(true),
        }
    }

    /// Proves that all rows of `_past` are before the end of the partition, so that `_past` can be
    /// attached with that bound without reading its rows.
    /// Returns false if the partition is no longer the oldest.
    async fn widen_past(
        &self,
        family: TableFamily,
        stretch: PartitionRange,
        fence: Option<&Fence>,
    ) -> Result<bool, StoreError> {
        for table in family.tables() {
            let (column, to) = (family.column(table), family.bound(stretch.to));
            let tx = self.begin().await?;
            if !self.goes_on(&tx, fence).await? {
                return Ok(false);
            }
            tx.execute_unprepared(LOCK).await?;
            tx.execute_unprepared(PATIENCE).await?;
            if self.partitions(&tx, family).await?.stretches.first() != Some(&stretch) {
                return Ok(false);
            }
            let promise = format!(
                "ALTER TABLE {table}_past DROP CONSTRAINT IF EXISTS {table}_past_until, \
                   ADD CONSTRAINT {table}_past_until CHECK ({column} < {to}) NOT VALID"
            );
            tx.execute_unprepared(&promise).await?;
            tx.commit().await?;
            // The validation reads the rows without blocking other transactions.
            let prove = format!("ALTER TABLE {table}_past VALIDATE CONSTRAINT {table}_past_until");
            self.read().execute_unprepared(&prove).await?;
        }
        Ok(true)
    }

    async fn exchange(
        &self,
        family: TableFamily,
        stretch: PartitionRange,
        rule: &RetentionRule,
        found: &RangeContents,
        fence: Option<&Fence>,
    ) -> Result<PartitionDrop, StoreError> {
        let tx = self.begin().await?;
        if !self.goes_on(&tx, fence).await? {
            return Ok(PartitionDrop::Postponed);
        }
        tx.execute_unprepared(LOCK).await?;
        tx.execute_unprepared(PATIENCE).await?;
        if self.partitions(&tx, family).await?.stretches.first() != Some(&stretch) {
            return Ok(PartitionDrop::Postponed);
        }
        let tables = family.tables();
        for table in tables {
            let lock = format!("LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE");
            tx.execute_unprepared(&lock).await?;
        }
        let since = family.touched_since(found.horizon, rule);
        let mut needed = self.needed_in(&tx, family, stretch, rule, &since).await?;
        // The search stops at the limit, so there may be more such rows.
        if needed.len() > MAX_MOVED || self.have_much(&tx, family, stretch, &needed).await? {
            return Ok(PartitionDrop::Needed);
        }
        needed.extend(&found.needed);
        let keys = listed(&needed);
        let mut rows = found.rows;
        for (count, table) in rows.iter_mut().zip(tables) {
            let (name, to) = (stretch.name(table), family.bound(stretch.to));
            let key =
                if matches!(family, TableFamily::Fires) { "id" } else { family.column(table) };
            let cut = format!(
                "ALTER TABLE {table} DETACH PARTITION {name};
                 ALTER TABLE {table} DETACH PARTITION {table}_past;"
            );
            tx.execute_unprepared(&cut).await?;
            if !needed.is_empty() {
                let keep = format!(
                    "INSERT INTO {table}_past SELECT * FROM {name} WHERE {key} IN ({keys})"
                );
                let kept = tx.execute_unprepared(&keep).await?.rows_affected();
                *count = count.saturating_sub(kept);
            }
            let join = format!(
                "ALTER TABLE {table} ATTACH PARTITION {table}_past
                   FOR VALUES FROM (MINVALUE) TO ({to});
                 ALTER TABLE {table}_past DROP CONSTRAINT IF EXISTS {table}_past_until;
                 DROP TABLE {name};"
            );
            tx.execute_unprepared(&join).await?;
        }
        tx.commit().await?;
        Ok(PartitionDrop::Gone(rows))
    }

    async fn change(
        &self,
        tx: &DatabaseTransaction,
        family: TableFamily,
        fits: impl FnOnce(&Layout) -> bool,
        sql: &str,
    ) -> Result<bool, StoreError> {
        tx.execute_unprepared(LOCK).await?;
        tx.execute_unprepared(PATIENCE).await?;
        if !fits(&self.partitions(tx, family).await?) {
            return Ok(false);
        }
        tx.execute_unprepared(sql).await?;
        Ok(true)
    }

    /// Number of rows in a partition; for a large one, the estimate of its last analysis.
    async fn count_rows(&self, name: &str) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT CASE WHEN pg_relation_size(oid) > {COUNTED_BYTES} AND reltuples >= 0 \
               THEN reltuples::bigint ELSE (SELECT count(*) FROM {name}) END AS found \
             FROM pg_class WHERE oid = '{name}'::regclass"
        );
        let row = RowCount::find_by_statement(self.dialect().statement(sql, []));
        Ok(row.one(self.read()).await?.map_or(0, |row| row.found.unsigned_abs()))
    }
}

/// Keys as an SQL list, or the nil key if there are none.
fn listed(keys: &[Uuid]) -> String {
    let none = [Uuid::nil()];
    let keys = if keys.is_empty() { &none[..] } else { keys };
    keys.iter().map(|key| format!("'{key}'")).collect::<Vec<_>>().join(",")
}
