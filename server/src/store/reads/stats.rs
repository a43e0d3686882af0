//! Roll-ups, added up to the steps of a chart.

use entity::Timestamp;
use sea_orm::FromQueryResult;
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    ledger::{
        counts::{Counts, Rollup, added_up},
        hours,
    },
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
    hours::steps_in((store.read(), store.dialect()), namespace, from, until, step_ms).await
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
