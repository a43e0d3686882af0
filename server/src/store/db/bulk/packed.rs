//! Packs a batch of rows for SQLite, which has no arrays.
//! Each column is one value, which the statement unpacks row by row.
//!
//! A statement has the same text for every number of rows, so it is parsed once.
//! With `VALUES` and one placeholder per value, each batch size would have a text of its own,
//! and parsing that would take longer than executing it.
//!
//! Keys and numbers have a fixed width.
//! Texts are concatenated, with a table of their offsets and lengths. If some rows are null, a flag
//! per row marks those. If many rows have the same value in a column, that value is bound once.

use std::fmt::Write;

use sea_orm::Value;

use super::{BulkColumn, Kind, MAX_ROWS, is_null};

/// Number of digits of an integer, including its sign.
const NUMBER: usize = 20;

/// Number of digits of the offset of a text, and of its length.
const EXTENT: usize = 10;

/// With fewer rows than this, every value is packed. In a few rows, many columns happen to have a
/// single value, and each combination of such columns would need a different text.
const MANY: usize = 32;

/// The rows as a SELECT. Its values are bound after those in `bound`.
pub(super) fn rows(columns: Vec<BulkColumn>, bound: &mut Vec<Value>) -> String {
    let height = columns.first().map_or(0, |column| column.values.len());
    // Neither condition excludes a row. They tell the planner how few rows there are. Without them,
    // it would choose an index whose first column is given, and scan the batch for each entry.
    let most = height.max(MAX_ROWS).next_power_of_two();
    let few = "likelihood(row.place >= 0, 0.1)";
    let count = bind(bound, i64::try_from(height).unwrap_or(i64::MAX));
    let columns: Vec<String> = columns.into_iter().map(|column| unpacked(column, bound)).collect();
    format!(
        "WITH RECURSIVE row(place) AS (SELECT 0 WHERE {count} > 0 UNION ALL \
           SELECT place + 1 FROM row WHERE place + 1 < {count} LIMIT {most}) \
         SELECT {} FROM row WHERE {few}",
        columns.join(", ")
    )
}

/// Binds a column. Returns the expression for its value in the row at `row.place`.
fn unpacked(BulkColumn { kind, values, .. }: BulkColumn, bound: &mut Vec<Value>) -> String {
    let height = values.len();
    let is_one = |first: &&Value| {
        (height == 1 || height >= MANY || is_null(first)) && values.iter().all(|one| one == *first)
    };
    if let Some(one) = values.first().filter(is_one) {
        return bind(bound, one.clone());
    }
    let has_nulls = values.iter().any(is_null);
    let given = has_nulls.then(|| {
        let flags: Vec<u8> = values.iter().map(|value| u8::from(!is_null(value))).collect();
        bind(bound, flags)
    });
    let value = match kind {
        Kind::Uuid => keys(&values, bound),
        Kind::Int => numbers(&values, bound),
        Kind::Text | Kind::Json => texts(&values, bound),
    };
    match given {
        None => value,
        Some(given) => {
            format!("CASE WHEN substr({given}, row.place + 1, 1) = x'01' THEN {value} END")
        }
    }
}

fn keys(values: &[Value], bound: &mut Vec<Value>) -> String {
    let key =
        |value: &Value| if let Value::Uuid(Some(key)) = value { key.into_bytes() } else { [0; 16] };
    let keys: Vec<u8> = values.iter().flat_map(key).collect();
    format!("substr({}, row.place * 16 + 1, 16)", bind(bound, keys))
}

fn numbers(values: &[Value], bound: &mut Vec<Value>) -> String {
    let mut numbers = String::with_capacity(values.len() * NUMBER);
    for value in values {
        let number = if let Value::BigInt(Some(number)) = value { *number } else { 0 };
        let _ = write!(numbers, "{number:0NUMBER$}");
    }
    number_at(&bind(bound, numbers.into_bytes()), NUMBER, 0, NUMBER)
}

fn texts(values: &[Value], bound: &mut Vec<Value>) -> String {
    let text = |value: &Value| if let Value::String(Some(text)) = value { text.len() } else { 0 };
    // The first byte does not belong to any row: for an empty value,
    // SQLite would return null instead of an empty text.
    let mut all = String::with_capacity(1 + values.iter().map(text).sum::<usize>());
    all.push(' ');
    let mut extents = String::with_capacity(values.len() * 2 * EXTENT);
    for value in values {
        let start = all.len() + 1;
        if let Value::String(Some(text)) = value {
            all.push_str(text);
        }
        let _ = write!(extents, "{start:0EXTENT$}{:0EXTENT$}", all.len() + 1 - start);
    }
    let (all, extents) = (bind(bound, all.into_bytes()), bind(bound, extents.into_bytes()));
    let start = number_at(&extents, 2 * EXTENT, 0, EXTENT);
    let length = number_at(&extents, 2 * EXTENT, EXTENT, EXTENT);
    format!("CAST(substr({all}, {start}, {length}) AS TEXT)")
}

/// The number in the `digits` bytes after the first `skipped` of a row's `width` bytes.
fn number_at(packed: &str, width: usize, skipped: usize, digits: usize) -> String {
    format!("CAST(substr({packed}, row.place * {width} + {}, {digits}) AS INTEGER)", skipped + 1)
}

/// Binds a value and returns its placeholder.
/// Placeholders have numbers because some are used twice.
fn bind(bound: &mut Vec<Value>, value: impl Into<Value>) -> String {
    bound.push(value.into());
    format!("?{}", bound.len())
}

#[cfg(test)]
mod tests {
    use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};
    use uuid::Uuid;

    use super::{super::BulkValues, *};
    use crate::store::Dialect;

    fn column(kind: Kind, values: Vec<Value>) -> BulkColumn {
        BulkColumn { name: "column", kind, values }
    }

    /// The text of the statement, and the number of values that it binds.
    fn text(kind: Kind, values: Vec<Value>) -> (String, usize) {
        let mut bound = Vec::new();
        (rows(vec![column(kind, values)], &mut bound), bound.len())
    }

    fn numbers(count: usize) -> Vec<Value> {
        (0..count as i64).map(Value::from).collect()
    }

    #[test]
    fn the_text_is_the_same_for_every_number_of_rows() {
        let some = text(Kind::Int, numbers(2));
        for count in [3, MANY, MAX_ROWS] {
            assert_eq!(text(Kind::Int, numbers(count)), some);
        }
        assert_eq!(some.1, 2, "the count, and all numbers");
    }

    #[test]
    fn more_rows_than_usual_are_not_cut_off() {
        let most = MAX_ROWS.next_power_of_two();
        assert!(text(Kind::Int, numbers(most)).0.contains(&format!("LIMIT {most}")));
        assert!(text(Kind::Int, numbers(most + 1)).0.contains(&format!("LIMIT {}", most * 2)));
    }

    #[test]
    fn a_value_shared_by_many_rows_is_bound_once() {
        let same = |count| text(Kind::Int, vec![7_i64.into(); count]).0;
        for bare in [same(1), same(MANY), text(Kind::Int, vec![Value::BigInt(None); 2]).0] {
            assert!(bare.contains("SELECT ?2 FROM row"), "{bare}");
        }
        assert!(same(MANY - 1).contains("substr"));
    }

    #[tokio::test]
    async fn sqlite_reads_every_row_as_it_was() {
        let database = Database::connect("sqlite::memory:").await.unwrap();
        let texts =
            ["", "caf\u{e9}\0'\"{0}\\", "1", "\u{1f514}", "a much longer one than the others"];
        for height in [0, 1, 2, MANY - 1, MANY, MAX_ROWS * 2] {
            // Each column repeats with a different period,
            // so that any value occurs together with any other.
            let keys =
                (0..height as u128).map(|n| (n % 7 > 0).then(|| Uuid::from_u128(n << 64 | n)));
            let numbers = (0..height)
                .map(|n| [Some(i64::MIN), Some(-1), Some(0), Some(i64::MAX), None][n % 5]);
            let words = (0..height).map(|n| (n % 6 > 0).then(|| texts[n % texts.len()].to_owned()));
            let whole = (0..height).map(|n| texts[n % texts.len()].to_owned());
            let statement = BulkValues::default()
                .uuid("key", keys.clone())
                .int("number", numbers.clone())
                .text("word", words.clone())
                .text("whole", whole.clone())
                .text("same", vec!["same".to_owned(); height].into_iter())
                .int("absent", vec![None; height].into_iter())
                .statement(
                    &Dialect::new(DbBackend::Sqlite),
                    "SELECT v.*, {0} FROM v",
                    vec![7.into()],
                );
            let rows = database.query_all_raw(statement).await.unwrap();
            assert_eq!(rows.len(), height);
            let expected = keys.zip(numbers).zip(words).zip(whole);
            for (row, (((key, number), word), whole)) in rows.iter().zip(expected) {
                assert_eq!(row.try_get_by_index::<Option<Uuid>>(0).unwrap(), key);
                assert_eq!(row.try_get_by_index::<Option<i64>>(1).unwrap(), number);
                assert_eq!(row.try_get_by_index::<Option<String>>(2).unwrap(), word);
                assert_eq!(row.try_get_by_index::<String>(3).unwrap(), whole);
                assert_eq!(row.try_get_by_index::<String>(4).unwrap(), "same");
                assert_eq!(row.try_get_by_index::<Option<i64>>(5).unwrap(), None);
                assert_eq!(row.try_get_by_index::<i64>(6).unwrap(), 7);
            }
        }
    }

    #[tokio::test]
    async fn the_batch_is_read_first_although_an_index_begins_with_the_given_column() {
        let database = Database::connect("sqlite::memory:").await.unwrap();
        database
            .execute_unprepared("CREATE TABLE fire (schedule BIGINT, at BIGINT)")
            .await
            .unwrap();
        database.execute_unprepared("CREATE INDEX slot ON fire (schedule, at)").await.unwrap();
        let statement = BulkValues::default().int("at", 0..40).statement(
            &Dialect::new(DbBackend::Sqlite),
            "SELECT fire.rowid FROM v JOIN fire ON fire.schedule = {0} AND fire.at = v.at",
            vec![7.into()],
        );
        let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let values = statement.values.unwrap().0;
        let plan = Statement::from_sql_and_values(DbBackend::Sqlite, sql, values);
        let rows = database.query_all_raw(plan).await.unwrap();
        let steps: Vec<String> =
            rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
        let last: Vec<&str> = steps.iter().rev().take(2).rev().map(String::as_str).collect();
        let found = "SEARCH fire USING COVERING INDEX slot (schedule=? AND at=?)";
        assert_eq!(last, ["SCAN row", found], "{steps:?}");
    }
}
