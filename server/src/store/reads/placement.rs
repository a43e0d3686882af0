//! Runs that wait for a node with certain tags.

use entity::{Strings, Timestamp};
use sea_orm::FromQueryResult;

use crate::store::{Store, StoreError};

/// How many runs wait for a node with the same tags.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Waiting {
    /// The tags.
    pub runs_on: Strings,
    /// The runs.
    pub runs: i64,
}

/// The runs that could start by `now` and ask for tags, counted by these.
pub async fn waiting(store: &Store, now: Timestamp) -> Result<Vec<Waiting>, StoreError> {
    let sql = format!(
        "SELECT runs_on, count(*) AS runs FROM run WHERE runs_on IS NOT NULL \
           AND state IN ('queued', 'retrying') AND available_at <= $1{} \
         GROUP BY runs_on ORDER BY count(*) DESC LIMIT 100",
        store.dialect().live_runs("run.id", now)
    );
    let statement = store.dialect().statement(sql, [now.0.into()]);
    Ok(Waiting::find_by_statement(statement).all(store.read()).await?)
}
