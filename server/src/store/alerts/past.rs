//! Past events of a namespace, for the preview of a rule.
//! Each query has the time limit of a search, because a long period contains a lot of history.

use std::collections::HashMap;

use entity::{Timestamp, run::State};
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::{
    feeds::{BadRun, LostFire},
    standing::LongRun,
};
use crate::store::{
    Store, StoreError,
    days::first_key,
    db::bulk::BulkValues,
    reads::skipped::{CALM_MS, SKIPPED_FOR_LOAD},
};

/// A failed run, and the time when a later run of its schedule succeeded.
#[derive(Clone, Debug)]
pub struct PastFailure {
    /// The run that failed.
    pub run: BadRun,
    /// When a later run of the schedule succeeded; `None` if none has.
    pub mended_at: Option<Timestamp>,
}

/// A row of fires that were skipped for load, and when the schedule started its fires again.
#[derive(Clone, Debug, FromQueryResult)]
pub struct PastSkip {
    /// The namespace of the fires.
    pub namespace_id: Uuid,
    /// The schedule of the fires.
    pub schedule_id: Uuid,
    /// The reason, by the word that the ledger stores.
    pub reason: String,
    /// Number of fires.
    pub count: i64,
    /// When the fires were skipped.
    pub decided_at: Timestamp,
    /// When a fire started that was due more than an hour later; `None` if the next fire was
    /// skipped before that.
    pub resumed_at: Option<Timestamp>,
}

/// A run that took longer than a minute.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct PastLongRun {
    /// The run that took so long.
    #[sea_orm(nested)]
    pub run: LongRun,
    /// When the run settled; `None` if it has not.
    pub finished_at: Option<Timestamp>,
}

/// How long a settled run took.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct PastDuration {
    /// The key of the run.
    pub id: Uuid,
    /// The schedule of the run.
    pub schedule_id: Uuid,
    /// The state of the run.
    pub state: State,
    /// When the first attempt of the run started.
    pub started_at: Option<Timestamp>,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
}

/// A node that was declared dead.
#[derive(Clone, Debug, FromQueryResult)]
pub struct PastLoss {
    /// The key of the node's life.
    pub id: Uuid,
    /// The node's name.
    pub name: String,
    /// When the node was declared dead.
    pub ended_at: Timestamp,
    /// When the next life with the same name began; `None` if none has.
    pub back_at: Option<Timestamp>,
}

const RUN: &str = "SELECT run.id, run.namespace_id, run.schedule_id, run.error, run.due_at, \
    run.started_at, run.finished_at, run.changed";

/// Runs of schedules that have failed since then, in order
/// of creation: at most `limit`, those that ended first.
pub async fn failures(
    store: &Store,
    namespace: Uuid,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<PastFailure>, StoreError> {
    #[derive(FromQueryResult)]
    struct FailureRow {
        #[sea_orm(nested)]
        run: BadRun,
        mended_at: Option<Timestamp>,
    }
    // A success is searched for only between a failure and the next failure of its schedule.
    // So each run is read once, however long a streak of failures is.
    let sql = format!(
        "WITH bad AS ({RUN} FROM run WHERE run.namespace_id = $1 AND run.finished_at >= $2 \
             AND run.state IN ('failed', 'timed_out', 'cancelled') \
             AND run.state IN ('failed', 'timed_out') AND run.trigger <> 'backfill' \
             AND run.schedule_id IS NOT NULL \
           ORDER BY run.finished_at, run.id LIMIT $3), \
         failed AS (SELECT bad.*, \
             lead(bad.id) OVER (PARTITION BY bad.schedule_id ORDER BY bad.id) AS next FROM bad) \
         SELECT failed.*, (SELECT r.finished_at FROM run r \
             WHERE r.schedule_id = failed.schedule_id \
               AND r.id > failed.id AND r.id < coalesce(failed.next, $4) \
               AND r.state = 'succeeded' AND r.trigger <> 'backfill' \
             ORDER BY r.id LIMIT 1) AS mended_at \
         FROM failed ORDER BY failed.id DESC"
    );
    let values = [namespace.into(), since.0.into(), limit.cast_signed().into(), Uuid::max().into()];
    let rows: Vec<FailureRow> = store.found(store.dialect().statement(sql, values), true).await?;
    // The order is from last to first: the success after
    // a failure also ends the failures before it.
    let mut mended: HashMap<Uuid, Timestamp> = HashMap::new();
    let mut failures = Vec::with_capacity(rows.len());
    for FailureRow { run, mended_at } in rows {
        if let Some(at) = mended_at {
            mended.insert(run.schedule_id, at);
        }
        let mended_at = mended.get(&run.schedule_id).copied();
        failures.push(PastFailure { run, mended_at });
    }
    failures.reverse();
    Ok(failures)
}

/// Runs of schedules that have started more than a minute late
/// since then, latest first: at most `limit`.
pub async fn late(
    store: &Store,
    namespace: Uuid,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<BadRun>, StoreError> {
    let sql = format!(
        "{RUN} FROM run WHERE run.started_at > run.due_at + 60000 AND run.schedule_id IS NOT NULL \
           AND run.trigger = 'schedule' AND run.namespace_id = $1 AND run.started_at >= $2 \
         ORDER BY run.changed DESC, run.id DESC LIMIT $3"
    );
    let values = [namespace.into(), since.0.into(), limit.cast_signed().into()];
    store.found(store.dialect().statement(sql, values), true).await
}

/// Fires that were not run since then, by the time of their verdict: at most `limit`.
pub async fn missed(
    store: &Store,
    namespace: Uuid,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<LostFire>, StoreError> {
    let sql = format!(
        "SELECT fire.id, fire.namespace_id, fire.schedule_id, fire.scheduled_at, fire.count, \
           fire.reason, fire.decided_at FROM fire \
         WHERE fire.verdict IN ('missed', 'abandoned') AND {} = $1 \
           AND fire.decided_at >= $2 ORDER BY fire.decided_at, fire.id LIMIT $3",
        store.dialect().of_few("fire.namespace_id")
    );
    let values = [namespace.into(), since.0.into(), limit.cast_signed().into()];
    store.found(store.dialect().statement(sql, values), true).await
}

/// Fires that were skipped for load since then, by the time of their verdict: at most `limit`.
pub async fn skipped(
    store: &Store,
    namespace: Uuid,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<PastSkip>, StoreError> {
    // A fire that started is searched for only between a skipped fire and the next one of its
    // schedule. So each fire is read once, however many were skipped.
    let sql = format!(
        "WITH skipped AS (SELECT fire.id, fire.namespace_id, fire.schedule_id, fire.reason, \
             fire.count, fire.scheduled_at, fire.decided_at FROM fire \
             WHERE {SKIPPED_FOR_LOAD} AND {} = $1 AND fire.decided_at >= $2 \
           ORDER BY fire.decided_at, fire.id LIMIT $3), \
         followed AS (SELECT skipped.*, lead(skipped.scheduled_at) OVER ( \
             PARTITION BY skipped.schedule_id ORDER BY skipped.scheduled_at) AS next FROM skipped) \
         SELECT followed.namespace_id, followed.schedule_id, followed.reason, followed.count, \
           followed.decided_at, (SELECT s.decided_at FROM fire s \
             WHERE s.schedule_id = followed.schedule_id \
               AND s.scheduled_at > followed.decided_at + {CALM_MS} \
               AND s.scheduled_at < coalesce(followed.next, $4) AND s.verdict = 'started' \
             ORDER BY s.scheduled_at LIMIT 1) AS resumed_at \
         FROM followed ORDER BY followed.decided_at, followed.id",
        store.dialect().of_few("fire.namespace_id")
    );
    let values = [namespace.into(), since.0.into(), limit.cast_signed().into(), i64::MAX.into()];
    store.found(store.dialect().statement(sql, values), true).await
}

/// Runs of schedules that took longer than a minute and have settled since then, by the time when
/// they settled: at most `limit`.
pub async fn long(
    store: &Store,
    namespace: Uuid,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<PastLongRun>, StoreError> {
    // The condition is worded exactly as in the partial index.
    let sql = "SELECT run.id, run.schedule_id, run.namespace_id, run.started_at, run.finished_at \
         FROM run WHERE run.finished_at > run.started_at + 60000 AND run.schedule_id IS NOT NULL \
           AND run.namespace_id = $1 AND run.finished_at >= $2 \
         ORDER BY run.finished_at, run.id LIMIT $3";
    let values = [namespace.into(), since.0.into(), limit.cast_signed().into()];
    store.found(store.dialect().statement(sql, values), true).await
}

/// The newest `limit` runs of each of these schedules that were created since then, newest first.
pub async fn durations(
    store: &Store,
    schedules: &[Uuid],
    since: Timestamp,
    limit: u64,
) -> Result<HashMap<Uuid, Vec<PastDuration>>, StoreError> {
    let mut all: HashMap<Uuid, Vec<PastDuration>> = HashMap::new();
    if schedules.is_empty() {
        return Ok(all);
    }
    // The bound is a key: the first 48 bits of a run's key are its creation time.
    let which = "run.schedule_id = v.id AND run.id >= {0}";
    let first = store.dialect().newest_of_each("run", which, "run.id DESC", "{1}");
    let sql = format!(
        "SELECT run.id, run.schedule_id, run.state, run.started_at, run.finished_at FROM v {first}"
    );
    let values = vec![first_key(since.0).into(), limit.cast_signed().into()];
    let bulk = BulkValues::default().uuid("id", schedules.iter().copied());
    let statement = bulk.statement(store.dialect(), &sql, values);
    let rows: Vec<PastDuration> = store.found(statement, true).await?;
    for row in rows {
        all.entry(row.schedule_id).or_default().push(row);
    }
    for runs in all.values_mut() {
        runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.id));
    }
    Ok(all)
}

/// Nodes that were declared dead since then, in the order of their deaths: at most `limit`.
/// Retention keeps the rows of earlier lives as long as it keeps the ledger.
pub async fn lost_nodes(
    store: &Store,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<PastLoss>, StoreError> {
    let sql = "SELECT lives.id, lives.name, lives.ended_at, lives.back_at FROM ( \
           SELECT node.id, node.name, node.state, node.ended_at, lead(node.started_at) OVER ( \
             PARTITION BY node.name ORDER BY node.incarnation) AS back_at FROM node) lives \
         WHERE lives.state = 'dead' AND lives.ended_at >= $1 \
         ORDER BY lives.ended_at, lives.id LIMIT $2";
    let values = [since.0.into(), limit.cast_signed().into()];
    store.found(store.dialect().statement(sql, values), true).await
}
