//! Counts the rows that a retention round would remove, without removing them.

use std::time::Duration;

use entity::Timestamp;
use sea_orm::{FromQueryResult, Value};
use uuid::Uuid;

use super::{Leftover, RetentionRule};
use crate::store::{
    Store, StoreError,
    db::{
        days::{first_key, made_at},
        rows::{KeyRow, RowCount},
    },
};

/// The number of rows of a table that would be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The name of the table.
    pub table: &'static str,
    /// The namespace of the rows; `None` if they do not belong to a namespace.
    pub namespace_id: Option<Uuid>,
    /// Number of rows.
    pub rows: i64,
    /// An estimate of the size of the rows' contents.
    pub bytes: i64,
    /// The time of the oldest row: the instant of a fire, otherwise the creation of the run.
    /// Unknown outside the ledger.
    pub oldest: Option<Timestamp>,
    /// The time of the newest row, like that of the oldest.
    pub newest: Option<Timestamp>,
}

/// The oldest row that would remain in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oldest {
    /// The name of the table.
    pub table: &'static str,
    /// When the row was created.
    pub made_at: Timestamp,
}

/// For each table, the size of a row without its contents: the header and the index entries.
const FIRE: Shape = Shape { table: "fire", fixed: 420, texts: &["detail"] };
const RUN: Shape = Shape {
    table: "run",
    fixed: 640,
    texts: &["error", "cancel_by", "cancel_reason", "context", "idempotency_key"],
};
const TASK_RUN: Shape =
    Shape { table: "task_run", fixed: 160, texts: &["task", "error", "output"] };
const TASK_LOG: Shape = Shape { table: "task_log", fixed: 120, texts: &["task", "text", "lines"] };

struct Shape {
    table: &'static str,
    fixed: i64,
    texts: &'static [&'static str],
}

#[derive(FromQueryResult)]
struct FigureRow {
    namespace_id: Option<Uuid>,
    found: i64,
    bytes: i64,
    oldest: Option<i64>,
    newest: Option<i64>,
}

impl Shape {
    /// The expression for the total size of the rows called `alias`.
    fn bytes(&self, store: &Store, alias: &str) -> String {
        let length = |column: &&str| {
            if store.dialect().is_postgres() {
                format!(" + coalesce(pg_column_size({alias}.{column}), 0)")
            } else {
                format!(" + coalesce(length({alias}.{column}), 0)")
            }
        };
        let texts: String = self.texts.iter().map(length).collect();
        format!("CAST(coalesce(sum({}{texts}), 0) AS bigint) AS bytes", self.fixed)
    }
}

impl Store {
    /// The ledger rows that would be removed, by table and
    /// namespace: of all namespaces, or of `within` only.
    pub async fn old_figures(
        &self,
        rule: &RetentionRule,
        within: Option<Uuid>,
    ) -> Result<Vec<Figure>, StoreError> {
        let (last, joins) = (first_key(rule.reach()), rule.joins());
        let only = if within.is_some() { " AND t.namespace_id = $2" } else { "" };
        let old_run = format!("{}{only}", rule.run_is_old());
        let old_fire = format!("{}{only}", rule.fire_is_old());
        let counted = "t.namespace_id AS namespace_id, count(*) AS found, \
            min(t.created_at) AS oldest, max(t.created_at) AS newest";
        let counted_fires = "t.namespace_id AS namespace_id, count(*) AS found, \
            min(t.scheduled_at) AS oldest, max(t.last_scheduled_at) AS newest";
        let of_runs = |shape: &Shape| {
            format!(
                "SELECT {counted}, {} FROM run t JOIN {} c ON c.run_id = t.id {joins} \
                 WHERE t.id < $1 AND {old_run} GROUP BY t.namespace_id",
                shape.bytes(self, "c"),
                shape.table
            )
        };
        let run = format!(
            "SELECT {counted}, {} FROM run t {joins} WHERE t.id < $1 AND {old_run} \
             GROUP BY t.namespace_id",
            RUN.bytes(self, "t")
        );
        let fire = format!(
            "SELECT {counted_fires}, {} FROM fire t {joins} WHERE t.id < $1 AND t.scheduled_at < {} \
               AND {old_fire} GROUP BY t.namespace_id",
            FIRE.bytes(self, "t"),
            rule.reach()
        );
        let mut figures = Vec::new();
        for (shape, sql) in [
            (FIRE, fire),
            (RUN, run),
            (TASK_RUN, of_runs(&TASK_RUN)),
            (TASK_LOG, of_runs(&TASK_LOG)),
        ] {
            let values = [Value::from(last)].into_iter().chain(within.map(Value::from));
            let statement = self.dialect().statement(sql, values);
            let rows = FigureRow::find_by_statement(statement).all(self.read()).await?;
            figures.extend(rows.into_iter().map(|row| Figure {
                table: shape.table,
                namespace_id: row.namespace_id,
                rows: row.found,
                bytes: row.bytes,
                oldest: row.oldest.map(Timestamp),
                newest: row.newest.map(Timestamp),
            }));
        }
        Ok(figures)
    }

    /// The number of rows outside the ledger that would be removed.
    pub async fn leftover_figures(
        &self,
        rule: &RetentionRule,
        answers: Duration,
    ) -> Result<Vec<Figure>, StoreError> {
        /// The usual size of a row: header, keys, and a definition, session or stored answer.
        const USUAL_BYTES: i64 = 1_000;
        let mut figures = Vec::new();
        for what in Leftover::ALL {
            let (table, condition) = (what.table(), what.condition(self, rule, answers));
            let sql = format!("SELECT count(*) AS found FROM {table} WHERE {condition}");
            let statement = self.dialect().statement(sql, []);
            let rows = RowCount::find_by_statement(statement).one(self.read()).await?;
            let rows = rows.map_or(0, |count| count.found);
            if rows > 0 {
                let (bytes, oldest, newest) = (rows * USUAL_BYTES, None, None);
                figures.push(Figure { table, namespace_id: None, rows, bytes, oldest, newest });
            }
        }
        Ok(figures)
    }

    /// The oldest ledger rows that would remain: of all namespaces, or of `within` only.
    pub async fn oldest_kept(
        &self,
        rule: &RetentionRule,
        within: Option<Uuid>,
    ) -> Result<Vec<Oldest>, StoreError> {
        let only = if within.is_some() { " AND t.namespace_id = $1" } else { "" };
        let mut oldest = Vec::new();
        for (table, old) in [("fire", rule.fire_is_old()), ("run", rule.run_is_old())] {
            let sql = format!(
                "SELECT t.id FROM {table} t {} WHERE NOT {old}{only} ORDER BY t.id LIMIT 1",
                rule.joins()
            );
            let statement = self.dialect().statement(sql, within.map(Value::from));
            let row = KeyRow::find_by_statement(statement).one(self.read()).await?;
            if let Some(KeyRow { id }) = row {
                oldest.push(Oldest { table, made_at: Timestamp(made_at(id)) });
            }
        }
        Ok(oldest)
    }
}
