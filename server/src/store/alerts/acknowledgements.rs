//! The problems of schedules that users have acknowledged.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use entity::problem_acknowledgement::{Column, Entity, Model};
use sea_orm::{
    ConnectionTrait, EntityTrait, IntoActiveModel, Iterable, TryInsertResult, sea_query::OnConflict,
};
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::lookups::lookups,
    reads::{
        batches,
        problems::{self, FailureCause, ProblemGroup},
    },
};

lookups!("acknowledgement", removed: by_ids, lock, delete);

/// Adds an acknowledgement and returns `None`. If the problem already has one,
/// adds nothing and returns that one, locked until the transaction ends.
/// Waits for a transaction that is just adding one.
pub async fn add_or_lock<C: ConnectionTrait>(
    tx: &C,
    row: &Model,
) -> Result<Option<Model>, StoreError> {
    loop {
        let added = Entity::insert(row.clone().into_active_model())
            .on_conflict_do_nothing_on([Column::Id])
            .exec_without_returning(tx)
            .await?;
        if matches!(added, TryInsertResult::Inserted(1..)) {
            return Ok(None);
        }
        // The row is gone if the acknowledgement was withdrawn between the two statements.
        if let Some(earlier) = lock(tx, row.id).await? {
            return Ok(Some(earlier));
        }
    }
}

/// Adds an acknowledgement, or replaces an earlier one of the same problem.
pub async fn put<C: ConnectionTrait>(tx: &C, row: Model) -> Result<(), StoreError> {
    let again = OnConflict::column(Column::Id).update_columns(Column::iter()).to_owned();
    Entity::insert(row.into_active_model()).on_conflict(again).exec_without_returning(tx).await?;
    Ok(())
}

/// How long the acknowledgement of a problem stays valid after its last lost or skipped fire.
const OF_LOST_FIRES: TimeDelta = TimeDelta::days(30);

/// The acknowledgements of these problems that are valid at `now`, by key.
/// `over` contains the indexes of the problems that are over.
pub async fn counting(
    store: &Store,
    found: &[ProblemGroup],
    over: &HashSet<i64>,
    now: DateTime<Utc>,
) -> Result<HashMap<Uuid, Model>, StoreError> {
    let keys: Vec<Uuid> = found.iter().map(ProblemGroup::key).collect();
    let rows = by_ids(store.read(), &keys).await?;
    counting_of(store, rows, found, over, now).await
}

/// Selects the valid ones among acknowledgements that were read before.
/// If a problem was over since its acknowledgement, it is a different problem now. That can only be
/// told while the events since then are stored, so older acknowledgements are not valid.
pub async fn counting_of(
    store: &Store,
    mut rows: Vec<Model>,
    found: &[ProblemGroup],
    over: &HashSet<i64>,
    now: DateTime<Utc>,
) -> Result<HashMap<Uuid, Model>, StoreError> {
    let known: HashMap<Uuid, (&ProblemGroup, bool)> = (0_i64..)
        .zip(found)
        .map(|(place, one)| (one.key(), (one, !over.contains(&place))))
        .collect();
    rows.retain(|row| row.acknowledged_until.is_none_or(|until| until.utc() > now));
    let runs: Vec<Uuid> = rows.iter().filter_map(|row| row.last_run_id).collect();
    let stored = batches::runs(store, &runs).await?;
    let stored: HashSet<Uuid> = stored.into_iter().map(|run| run.id).collect();
    rows.retain(|row| match row.last_run_id {
        Some(run) => stored.contains(&run),
        None => row.last_at.utc() >= now - OF_LOST_FIRES,
    });
    let (mut open, mut then) = (Vec::new(), Vec::new());
    for row in &rows {
        let Some((one, is_open)) = known.get(&row.id) else { continue };
        // The state of the problem when it was acknowledged.
        let what = match (one.what.clone(), row.last_run_id) {
            (FailureCause::Failing { error, .. }, Some(last_run)) => {
                FailureCause::Failing { error, last_run }
            }
            (what, _) => what,
        };
        open.push(*is_open);
        then.push(ProblemGroup { what, last: row.last_at, ..(*one).clone() });
    }
    let was_over = problems::over_since(store, &then).await?;
    let counts =
        (0_i64..).zip(open).map(|(place, is_open)| !(is_open && was_over.contains(&place)));
    let rows = rows.into_iter().zip(counts).filter(|(_, counts)| *counts);
    Ok(rows.map(|(row, _)| (row.id, row)).collect())
}
