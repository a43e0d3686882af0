//! Copies a row many times inside the database, so that a million schedules take only seconds.

use anyhow::Result;
use carillon::store::Store;
use sea_orm::{ConnectionTrait, EntityTrait, IdenStatic, Iterable};
use uuid::Uuid;

/// Number of rows in one write: large enough to be fast, and small enough for the write-ahead log.
const BATCH: u64 = 50_000;

/// A range of numbers, one for each copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// The first number.
    pub(super) from: u64,
    /// The number after the last one.
    pub(super) to: u64,
}

/// Copies the row of `E` with this key once for each number. `changes` contains the columns that
/// differ, with their expressions, in which `n` is the number.
pub(super) async fn write<E: EntityTrait>(
    store: &Store,
    template: Uuid,
    Numbers { from, to }: Numbers,
    changes: &[(&str, String)],
) -> Result<()> {
    let table = E::default();
    let table = table.as_str();
    let names: Vec<&str> = E::Column::iter().map(|column| column.as_str()).collect();
    let wanted = names.iter().map(|name| {
        let change = changes.iter().find(|(column, _)| column == name);
        change.map_or_else(|| format!("t.{name}"), |(_, expression)| expression.clone())
    });
    let wanted = wanted.collect::<Vec<_>>().join(", ");
    let names = names.join(", ");
    let mut first = from;
    while first < to {
        let last = to.min(first + BATCH) - 1;
        let sql = if store.dialect().is_postgres() {
            format!(
                "INSERT INTO {table} ({names}) SELECT {wanted} \
                 FROM {table} t, generate_series({first}::bigint, {last}::bigint) AS g(n) \
                 WHERE t.id = '{template}'"
            )
        } else {
            format!(
                "WITH RECURSIVE g(n) AS \
                   (SELECT {first} UNION ALL SELECT n + 1 FROM g WHERE n < {last}) \
                 INSERT INTO {table} ({names}) SELECT {wanted} FROM {table} t, g \
                 WHERE t.id = x'{}'",
                template.simple()
            )
        };
        let tx = store.begin().await?;
        tx.execute_unprepared(&sql).await?;
        store.commit(tx).await?;
        first = last + 1;
    }
    Ok(())
}

/// The expression for the key with the time `ms` and the number `n`. It always yields the same key.
/// The keys are ordered by time and spread like random keys.
pub(super) fn key(store: &Store, ms: &str, n: &str) -> String {
    let scattered = format!("({n}) * 2654435761 % 1152921504606846976");
    if store.dialect().is_postgres() {
        format!(
            "(lpad(to_hex(({ms})::bigint), 12, '0') || '70008' || \
             lpad(to_hex({scattered}), 15, '0'))::uuid"
        )
    } else {
        format!("unhex(printf('%012x', {ms}) || '70008' || printf('%015x', {scattered}))")
    }
}
