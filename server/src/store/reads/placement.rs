//! Runs that wait for a node with certain tags.

use entity::{Strings, Timestamp};
use sea_orm::{ConnectionTrait, FromQueryResult, Value};
use uuid::Uuid;

use super::health::HealthScope;
use crate::store::{Store, StoreError};

/// The number of runs that wait for a node with the same tags.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct WaitingCount {
    /// The tags that the runs require.
    pub runs_on: Strings,
    /// Number of runs.
    pub runs: i64,
}

/// A holder that may have only a share of a node's places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The target of a run's first task; see `entity::run`.
    Origin(String),
    /// The schedule with this key.
    Schedule(Uuid),
    /// The namespace's key.
    Namespace(Uuid),
}

/// Maximum number of waiting runs that are counted.
pub const MAX_COUNTED: i64 = 10_000;

/// The number of a holder's waiting runs that could start by `now`.
pub async fn waiting_for_share(
    store: &Store,
    sharing: &Sharing,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let (column, key): (&str, Value) = match sharing {
        Sharing::Origin(origin) => ("origin", origin.clone().into()),
        Sharing::Schedule(id) => ("schedule_id", (*id).into()),
        Sharing::Namespace(id) => ("namespace_id", (*id).into()),
    };
    let sql = format!(
        "SELECT count(*) AS runs FROM (SELECT 1 FROM run WHERE run.state IN ('queued', 'retrying') \
           AND run.available_at <= $1 AND run.{column} = $2{} LIMIT {MAX_COUNTED}) waiting",
        store.dialect().live_runs("run.id", now)
    );
    let statement = store.dialect().statement(sql, [now.0.into(), key]);
    let row = store.read().query_one_raw(statement).await?;
    Ok(row.map(|row| row.try_get("", "runs")).transpose()?.unwrap_or_default())
}

/// The number of runs in `scope` that could start by `now` and require tags, for each set of tags.
pub async fn waiting(
    store: &Store,
    scope: &HealthScope,
    now: Timestamp,
) -> Result<Vec<WaitingCount>, StoreError> {
    let dialect = store.dialect();
    let mut values: Vec<Value> = vec![now.0.into()];
    let mut narrowed = String::new();
    if let Some(home) = scope.within.compared(&mut values) {
        narrowed.push_str(&format!(" AND run.namespace_id {home}"));
    }
    if let Some(tag) = &scope.tag {
        values.push(tag.clone().into());
        let has = dialect.list_has("s.tags", &format!("${}", values.len()));
        narrowed.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM schedule s WHERE s.id = run.schedule_id AND {has})"
        ));
    }
    let sql = format!(
        "SELECT runs_on, count(*) AS runs FROM run WHERE runs_on IS NOT NULL \
           AND state IN ('queued', 'retrying') AND available_at <= $1{narrowed}{} \
         GROUP BY runs_on ORDER BY count(*) DESC LIMIT 100",
        dialect.live_runs("run.id", now)
    );
    let statement = dialect.statement(sql, values);
    Ok(WaitingCount::find_by_statement(statement).all(store.read()).await?)
}
