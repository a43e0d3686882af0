//! Cuts of a namespace's history, which its quota of rows causes.

use std::collections::BTreeMap;

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult, Value};
use uuid::Uuid;

use super::history::period_of;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, MAX_ROWS},
        days::{DayRange, first_key},
        within::Within,
    },
};

/// The last time that a quota has cut a namespace's history.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct HistoryCut {
    /// The name of the namespace.
    pub name: String,
    /// The instant before which settled history was removed.
    pub until: Timestamp,
}

impl Store {
    /// The bytes of log lines from before `until` that a namespace keeps after a cut,
    /// by the retention of their schedules.
    /// They belong to runs with keys after `first` that were still live at `until`.
    pub async fn log_bytes_left(
        &self,
        namespace: Uuid,
        first: Uuid,
        until: Timestamp,
    ) -> Result<BTreeMap<i64, i64>, StoreError> {
        #[derive(FromQueryResult)]
        struct Run {
            id: Uuid,
            days: i32,
        }
        #[derive(FromQueryResult)]
        struct LogBytesOfDays {
            days: i64,
            bytes: i64,
        }
        let limit = i64::try_from(MAX_ROWS).unwrap_or(i64::MAX);
        let (mut after, mut left) = (first, BTreeMap::new());
        loop {
            let sql = "SELECT r.id, coalesce(s.retention_days, 0) AS days \
                 FROM run r LEFT JOIN schedule s ON s.id = r.schedule_id \
                 WHERE r.id > $2 AND r.id < $3 AND r.namespace_id = $1 ORDER BY r.id LIMIT $4";
            let values = [namespace.into(), after.into(), first_key(until.0).into(), limit.into()];
            let statement = self.dialect().statement(sql, values);
            let runs = Run::find_by_statement(statement).all(self.read()).await?;
            let Some(last) = runs.last() else { return Ok(left) };
            after = last.id;
            let statement = BulkValues::default()
                .uuid("id", runs.iter().map(|run| run.id))
                .int("days", runs.iter().map(|run| i64::from(run.days)))
                .days(DayRange::of_keys("l.run_id", runs.iter().map(|run| run.id)))
                .statement(
                    self.dialect(),
                    "SELECT v.days, CAST(sum(octet_length(l.text)) AS bigint) AS bytes \
                     FROM v JOIN task_log l ON l.run_id = v.id \
                     WHERE l.at < {0} {days} GROUP BY v.days",
                    vec![until.0.into()],
                );
            for row in LogBytesOfDays::find_by_statement(statement).all(self.read()).await? {
                *left.entry(row.days).or_default() += row.bytes;
            }
        }
    }

    /// Records that settled history of a namespace from before `until` was removed at `now`.
    /// The bytes of log lines in `left`, by days, count as if they had been written at that time.
    pub async fn record_cut(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        until: Timestamp,
        left: &BTreeMap<i64, i64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = || [Value::from(namespace), until.0.into()];
        if self.dialect().is_postgres() {
            // The rows are locked in the order in which other statements change them.
            let sql = "SELECT period FROM history_stat WHERE namespace_id = $1 AND period < $2 \
                 ORDER BY period, days FOR UPDATE";
            tx.execute_raw(self.dialect().statement(sql, values())).await?;
        }
        let sql = "DELETE FROM history_stat WHERE namespace_id = $1 AND period < $2";
        tx.execute_raw(self.dialect().statement(sql, values())).await?;
        if !left.is_empty() {
            let statement = BulkValues::default()
                .uuid("namespace_id", left.keys().map(|_| namespace))
                .int("days", left.keys().copied())
                .int("bytes", left.values().copied())
                .statement(
                    self.dialect(),
                    "INSERT INTO history_stat (namespace_id, period, days, log_bytes) \
                     SELECT v.namespace_id, CAST({0} AS bigint), v.days, v.bytes FROM v \
                     WHERE true ORDER BY v.days \
                     ON CONFLICT (namespace_id, period, days) DO UPDATE \
                       SET log_bytes = history_stat.log_bytes + excluded.log_bytes",
                    vec![period_of(until).0.into()],
                );
            tx.execute_raw(statement).await?;
        }
        let sql = "INSERT INTO history_cut (namespace_id, until, at) VALUES ($1, $2, $3) \
             ON CONFLICT (namespace_id) DO UPDATE SET until = excluded.until, at = excluded.at";
        let values = [namespace.into(), until.0.into(), now.0.into()];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        Ok(())
    }

    /// The namespaces whose history was cut at `since` or later.
    pub async fn cuts_since(
        &self,
        within: &Within,
        since: Timestamp,
    ) -> Result<Vec<HistoryCut>, StoreError> {
        let mut values: Vec<Value> = vec![since.0.into()];
        let only = within.compared(&mut values).map(|these| format!(" AND n.id {these}"));
        let only = only.unwrap_or_default();
        let sql = format!(
            "SELECT n.name, c.until FROM history_cut c JOIN namespace n ON n.id = c.namespace_id \
             WHERE c.at >= $1{only} ORDER BY n.name"
        );
        let statement = self.dialect().statement(sql, values);
        Ok(HistoryCut::find_by_statement(statement).all(self.read()).await?)
    }

    /// The instant up to which a quota has cut a namespace's history; `None` if it never has.
    pub async fn cut_of(&self, namespace: Uuid) -> Result<Option<Timestamp>, StoreError> {
        let since = Timestamp(i64::MIN);
        let cut = self.cuts_since(&Within::One(namespace), since).await?.pop();
        Ok(cut.map(|cut| cut.until))
    }
}
