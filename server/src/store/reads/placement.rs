//! Runs that wait for a node with certain tags.

use entity::{Strings, Timestamp};
use sea_orm::{FromQueryResult, Value};

use super::health::Scope;
use crate::store::{Store, StoreError};

/// How many runs wait for a node with the same tags.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Waiting {
    /// The tags.
    pub runs_on: Strings,
    /// The runs.
    pub runs: i64,
}

/// The runs of what `scope` names that could start by `now` and ask for tags, counted by these.
pub async fn waiting(
    store: &Store,
    scope: &Scope,
    now: Timestamp,
) -> Result<Vec<Waiting>, StoreError> {
    let dialect = store.dialect();
    let mut values: Vec<Value> = vec![now.0.into()];
    let mut narrowed = String::new();
    if let Some(namespace) = scope.namespace {
        values.push(namespace.into());
        narrowed.push_str(&format!(" AND run.namespace_id = ${}", values.len()));
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
    Ok(Waiting::find_by_statement(statement).all(store.read()).await?)
}
