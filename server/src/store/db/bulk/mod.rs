//! A batch of rows as a table inside a statement. The table is called `v` if it is the only one.
//!
//! Speed depends on this: a claim, a hand-off or a settlement is one statement for up to hundreds
//! of rows. PostgreSQL receives one array per column and the same text for every batch size, so the
//! statement is prepared once. SQLite also receives one value per column, which is unpacked inside
//! SQLite (`packed`). The rest of the statement reads `v` and has the same text for both.

mod packed;

use std::{borrow::Cow, collections::HashSet, fmt::Write};

use sea_orm::{ConnectionTrait, Statement, Value};
use uuid::Uuid;

use super::days::DayRange;
use crate::store::{Dialect, StoreError};

/// Maximum number of rows per statement, so that a statement easily fits into the database's
/// memory. Larger batches are written in several statements.
pub(crate) const MAX_ROWS: usize = 1_000;

/// The columns of the table `v`.
#[derive(Debug, Default)]
pub(crate) struct BulkValues {
    columns: Vec<BulkColumn>,
    days: Option<DayRange>,
}

#[derive(Debug)]
struct BulkColumn {
    name: &'static str,
    kind: Kind,
    values: Vec<Value>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Uuid,
    Int,
    Text,
    Json,
}

impl BulkValues {
    /// A column of keys.
    pub(crate) fn uuid<T>(self, name: &'static str, values: impl Iterator<Item = T>) -> Self
    where
        T: Into<Option<Uuid>>,
    {
        self.column(name, Kind::Uuid, values.map(|value| Value::Uuid(value.into())).collect())
    }

    /// A column of integers: counts, versions, milliseconds.
    pub(crate) fn int<T>(self, name: &'static str, values: impl Iterator<Item = T>) -> Self
    where
        T: Into<Option<i64>>,
    {
        self.column(name, Kind::Int, values.map(|value| Value::BigInt(value.into())).collect())
    }

    /// A column of texts or enum words.
    pub(crate) fn text<T>(self, name: &'static str, values: impl Iterator<Item = T>) -> Self
    where
        T: Into<Option<String>>,
    {
        self.column(name, Kind::Text, values.map(|value| Value::String(value.into())).collect())
    }

    /// A column of JSON.
    pub(crate) fn json<T>(self, name: &'static str, values: impl Iterator<Item = T>) -> Self
    where
        T: Into<Option<serde_json::Value>>,
    {
        let text = |value: T| Value::String(value.into().map(|json| json.to_string()));
        self.column(name, Kind::Json, values.map(text).collect())
    }

    /// Sets the days of the ledger that contain the rows. They replace `{days}` in the statement.
    pub(crate) fn days(mut self, days: DayRange) -> Self {
        self.days = Some(days);
        self
    }

    fn column(mut self, name: &'static str, kind: Kind, values: Vec<Value>) -> Self {
        self.columns.push(BulkColumn { name, kind, values });
        self
    }

    /// The statement `WITH v AS (the rows) sql`. In `sql`, `{0}`, `{1}`, ...
    /// are replaced by `values`, and `{days}` by an additional condition; see [`BulkValues::days`].
    pub(crate) fn statement(self, dialect: &Dialect, sql: &str, values: Vec<Value>) -> Statement {
        let (days, mut bound) = (self.days, Vec::new());
        let table = self.table(dialect, "v", &mut bound);
        let mark = if dialect.is_postgres() { '$' } else { '?' };
        let mut sql = Cow::from(sql);
        if let Some(days) = days {
            sql = sql.replace("{days}", &dialect.within(days)).into();
        }
        for (index, value) in values.into_iter().enumerate() {
            bound.push(value);
            sql = sql.replace(&format!("{{{index}}}"), &format!("{mark}{}", bound.len())).into();
        }
        dialect.statement(format!("WITH {table} {sql}"), bound)
    }

    /// The rows as a table with this name, to be put after WITH.
    /// Its values are bound after those in `bound`.
    pub(in crate::store) fn table(
        self,
        dialect: &Dialect,
        name: &str,
        bound: &mut Vec<Value>,
    ) -> String {
        let names = listed(&self.columns);
        let rows = if dialect.is_postgres() {
            self.arrays(bound)
        } else {
            packed::rows(self.columns, bound)
        };
        format!("{name}({names}) AS ({rows})")
    }

    /// The columns as arrays.
    /// A column of nulls is not sent, because `unnest` fills it up to the length of the others.
    fn arrays(self, bound: &mut Vec<Value>) -> String {
        let mut casts = Vec::with_capacity(self.columns.len());
        let is_empty = |column: &BulkColumn| column.values.iter().all(is_null);
        let is_measured = !self.columns.iter().all(is_empty);
        for column in self.columns {
            let cast = match column.kind {
                Kind::Uuid => "uuid[]",
                Kind::Int => "bigint[]",
                Kind::Text => "text[]",
                Kind::Json => "jsonb[]",
            };
            let is_left_out = is_measured && is_empty(&column);
            bound.push(Value::from((!is_left_out).then(|| array_literal(&column.values))));
            casts.push(format!("${}::{cast}", bound.len()));
        }
        format!("SELECT * FROM unnest({})", casts.join(", "))
    }
}

fn listed(columns: &[BulkColumn]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// Whether a value is a null of a type that columns can have.
fn is_null(value: &Value) -> bool {
    matches!(value, Value::Uuid(None) | Value::BigInt(None) | Value::String(None))
}

/// A column in PostgreSQL's array syntax. The query builder's own arrays cannot contain nulls.
fn array_literal(values: &[Value]) -> String {
    let mut text = String::with_capacity(2 + values.len() * 16);
    text.push('{');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if let Value::Uuid(Some(id)) = value {
            let _ = write!(text, "{id}");
        } else if let Value::BigInt(Some(number)) = value {
            let _ = write!(text, "{number}");
        } else if let Value::String(Some(word)) = value {
            text.push('"');
            for character in word.chars() {
                if matches!(character, '"' | '\\') {
                    text.push('\\');
                }
                text.push(character);
            }
            text.push('"');
        } else {
            text.push_str("NULL");
        }
    }
    text.push('}');
    text
}

/// The keys that a statement returns in its first column.
pub(in crate::store) async fn returned_ids<C: ConnectionTrait>(
    connection: &C,
    statement: Statement,
) -> Result<HashSet<Uuid>, StoreError> {
    let mut ids = HashSet::new();
    for row in connection.query_all_raw(statement).await? {
        ids.insert(row.try_get_by_index::<Uuid>(0)?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use sea_orm::DbBackend;

    use super::*;

    fn bulk() -> BulkValues {
        BulkValues::default()
            .int("number", [Some(1), None].into_iter())
            .text("word", ["a\"b".to_owned(), "c\\,{}".to_owned()].into_iter())
    }

    #[test]
    fn postgres_gets_one_text_for_every_size_of_batch() {
        let dialect = Dialect::new(DbBackend::Postgres);
        let statement = bulk().statement(&dialect, "SELECT {0}", vec![Value::from(7_i64)]);
        assert_eq!(
            statement.sql,
            "WITH v(number, word) AS (SELECT * FROM unnest($1::bigint[], $2::text[])) SELECT $3"
        );
        let values = statement.values.unwrap().0;
        assert_eq!(values[0], Value::from("{1,NULL}"));
        assert_eq!(values[1], Value::from(r#"{"a\"b","c\\,{}"}"#));
    }

    #[test]
    fn postgres_gets_no_array_of_nothing() {
        let dialect = Dialect::new(DbBackend::Postgres);
        let nothing = |count| vec![None::<i64>; count].into_iter();
        let bulk = bulk().int("nothing", nothing(2));
        let values = bulk.statement(&dialect, "SELECT 1", vec![]).values.unwrap().0;
        assert_eq!(values[2], Value::String(None));
        let bulk = BulkValues::default().int("nothing", nothing(2));
        let values = bulk.statement(&dialect, "SELECT 1", vec![]).values.unwrap().0;
        assert_eq!(values[0], Value::from("{NULL,NULL}"), "it says how many rows there are");
    }
}
