//! Roll-ups, added up to the steps of a chart.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use uuid::Uuid;

use crate::store::{
    Dialect, Store, StoreError,
    counts::{COLUMNS, Counts, Rollup, Way},
    spread::Spread,
};

/// The roll-ups of the minutes from `from` up to `until`, in steps of so many milliseconds, each
/// with its number from 0. A step in which nothing happened is not among them.
pub async fn steps(
    store: &Store,
    namespace: Uuid,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Vec<(i64, Rollup)>, StoreError> {
    steps_in((store.read(), store.dialect()), namespace, from, until, step_ms).await
}

/// The same by a connection of one's own.
pub(in crate::store) async fn steps_in<C: ConnectionTrait>(
    (connection, dialect): (&C, &Dialect),
    namespace: Uuid,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Vec<(i64, Rollup)>, StoreError> {
    #[derive(FromQueryResult)]
    struct Row {
        step: i64,
        #[sea_orm(nested)]
        counts: Counts,
        durations: String,
        latenesses: String,
    }
    let sql = format!(
        "SELECT (minute - $2) / $4 AS step, {}, string_agg(durations, ' ') AS durations, \
           string_agg(latenesses, ' ') AS latenesses \
         FROM run_stat WHERE namespace_id = $1 AND minute >= $2 AND minute < $3 \
         GROUP BY (minute - $2) / $4 ORDER BY (minute - $2) / $4",
        added_up()
    );
    let values = [namespace.into(), from.0.into(), until.0.into(), step_ms.max(1).into()];
    let rows = Row::find_by_statement(dialect.statement(sql, values));
    let spread = |text: &str| Spread::read(text).map_err(|error| DbErr::Type(error.to_string()));
    let rolled_up = |row: Row| -> Result<_, StoreError> {
        let (durations, latenesses) = (spread(&row.durations)?, spread(&row.latenesses)?);
        Ok((row.step, Rollup { counts: row.counts, durations, latenesses }))
    };
    rows.all(connection).await?.into_iter().map(rolled_up).collect()
}

/// What the minutes from `from` up to `until` came to; how long things took is not read.
pub async fn counts(
    store: &Store,
    namespace: Uuid,
    from: Timestamp,
    until: Timestamp,
) -> Result<Counts, StoreError> {
    let sql = format!(
        "SELECT {} FROM run_stat WHERE namespace_id = $1 AND minute >= $2 AND minute < $3",
        added_up()
    );
    let statement =
        store.dialect().statement(sql, [namespace.into(), from.0.into(), until.0.into()]);
    Ok(Counts::find_by_statement(statement).one(store.read()).await?.unwrap_or_default())
}

/// The columns of counts over several minutes.
fn added_up() -> String {
    let columns = COLUMNS.iter().map(|column| match (column.name, column.way) {
        (name, Way::Sum) => format!("CAST(coalesce(sum({name}), 0) AS bigint) AS {name}"),
        (name, Way::Greatest) => format!("coalesce(max({name}), 0) AS {name}"),
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The roll-up of the minutes from `from` up to `until`.
pub async fn sum(
    store: &Store,
    namespace: Uuid,
    from: Timestamp,
    until: Timestamp,
) -> Result<Rollup, StoreError> {
    let whole = until.0.saturating_sub(from.0);
    let mut steps = steps(store, namespace, from, until, whole).await?;
    Ok(steps.pop().map(|(_, rollup)| rollup).unwrap_or_default())
}
