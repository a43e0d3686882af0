//! Whether failures persist, and which work is stalled or slow.

use std::collections::HashSet;

use entity::{Timestamp, schedule};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::{
        bulk::{BulkValues, MAX_ROWS},
        rows::KeyRow,
    },
    ledger::candidates::BEFORE_PAUSE,
    reads::{schedules, search::TimedSearch, within::Within},
    workers::queues,
};

/// Maximum number of runs of a schedule that are examined for failures in a row.
pub const LONGEST_STREAK: i64 = 50;

/// A schedule that is due or has a waiting run, and that no node takes.
#[derive(Clone, Debug, FromQueryResult)]
pub struct StalledSchedule {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The namespace of the schedule.
    pub namespace_id: Uuid,
    /// The schedule's name.
    pub name: String,
    /// The run that waits; `None` if the schedule itself waits to be claimed.
    pub run_id: Option<Uuid>,
    /// The queue without a worker, if the run waits for a worker.
    pub queue: Option<String>,
    /// Since when the schedule or the run has waited.
    pub since: Timestamp,
}

/// Whether a schedule whose runs failed, or that skipped fires, has recovered.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct AlertRecovery {
    /// The key of the alert.
    pub id: Uuid,
    /// When a later run of the schedule succeeded, or a later fire started.
    pub mended_at: Option<Timestamp>,
    /// Whether the schedule still exists.
    pub lives: bool,
}

/// How many runs of each schedule failed in a row, up to [`LONGEST_STREAK`], when the given run was
/// the latest one that had ended. A greater key than that of any run stands for now.
pub async fn streaks(
    store: &Store,
    latest: &[(Uuid, Uuid)],
) -> Result<Vec<(Uuid, i64)>, StoreError> {
    #[derive(FromQueryResult)]
    struct FailureStreak {
        id: Uuid,
        failures: i64,
    }
    if latest.is_empty() {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT v.id, (SELECT count(*) FROM (SELECT t.state, \
             sum(CASE WHEN t.state = 'succeeded' THEN 1 ELSE 0 END) OVER (ORDER BY t.id DESC) \
               AS good \
           FROM (SELECT r.id, r.state FROM run r WHERE r.schedule_id = v.id \
             AND r.id <= v.run_id AND r.trigger <> 'backfill' \
             AND r.state IN ('succeeded', 'failed', 'timed_out') \
             ORDER BY r.id DESC LIMIT {LONGEST_STREAK}) t) last_runs \
           WHERE last_runs.good = 0 AND last_runs.state IN ('failed', 'timed_out')) AS failures \
         FROM v"
    );
    let statement = BulkValues::default()
        .uuid("id", latest.iter().map(|latest| latest.0))
        .uuid("run_id", latest.iter().map(|latest| latest.1))
        .statement(store.dialect(), &sql, vec![]);
    let rows = FailureStreak::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.failures)).collect())
}

/// Whether a later run of a schedule has succeeded, for each (alert, schedule, last failed run).
/// A run of an older fire that ends later says nothing about a newer fire.
pub async fn mended(
    store: &Store,
    alerts: &[(Uuid, Uuid, Uuid)],
) -> Result<Vec<AlertRecovery>, StoreError> {
    if alerts.is_empty() {
        return Ok(vec![]);
    }
    let statement = BulkValues::default()
        .uuid("id", alerts.iter().map(|alert| alert.0))
        .uuid("schedule_id", alerts.iter().map(|alert| alert.1))
        .uuid("run_id", alerts.iter().map(|alert| alert.2))
        .statement(
            store.dialect(),
            "SELECT v.id, (SELECT r.finished_at FROM run r WHERE r.schedule_id = v.schedule_id \
                 AND r.id > v.run_id AND r.state = 'succeeded' AND r.trigger <> 'backfill' \
                 ORDER BY r.id LIMIT 1) AS mended_at, \
               EXISTS (SELECT 1 FROM schedule s WHERE s.id = v.schedule_id \
                 AND s.deleted_at IS NULL) AS lives \
             FROM v",
            vec![],
        );
    Ok(AlertRecovery::find_by_statement(statement).all(store.read()).await?)
}

/// Work of these namespaces that has waited since `before` or longer: unclaimed schedules,
/// and schedules with runs outside of groups that no node takes, with the first such run.
/// At most `limit` of each kind per namespace, longest waiting first. Also runs whose task has been
/// queued as long and has no worker that may take it and has reported since `silent`.
pub async fn waiting(
    store: &Store,
    namespaces: &[Uuid],
    before: Timestamp,
    silent: Timestamp,
    limit: u64,
) -> Result<Vec<StalledSchedule>, StoreError> {
    if namespaces.is_empty() {
        return Ok(vec![]);
    }
    let due = format!(
        "SELECT d.schedule_id, d.namespace_id, d.name, d.since FROM ( \
           SELECT s.id AS schedule_id, s.namespace_id, s.name, s.next_fire_at AS since, \
             row_number() OVER (PARTITION BY s.namespace_id ORDER BY s.next_fire_at, s.id) AS place \
           FROM schedule s WHERE s.enabled AND s.next_fire_at IS NOT NULL \
             AND s.next_fire_at <= {{0}} AND {BEFORE_PAUSE} \
             AND s.namespace_id IN (SELECT id FROM v)) d \
         WHERE d.place <= {{1}}"
    );
    let queued = format!(
        "SELECT w.schedule_id, w.namespace_id, schedule.name, w.since, CAST(NULL AS text) AS queue, ( \
             SELECT r.id FROM run r WHERE r.schedule_id = w.schedule_id AND {QUEUED} \
               AND r.available_at = w.since ORDER BY r.id LIMIT 1) AS run_id \
         FROM (SELECT q.schedule_id, q.namespace_id, q.since, row_number() OVER ( \
                 PARTITION BY q.namespace_id ORDER BY q.since, q.schedule_id) AS place \
             FROM (SELECT r.schedule_id, r.namespace_id, min(r.available_at) AS since FROM run r \
                 WHERE {QUEUED} AND r.available_at <= {{0}} AND r.schedule_id IS NOT NULL \
                   AND r.namespace_id IN (SELECT id FROM v) \
                 GROUP BY r.schedule_id, r.namespace_id) q) w \
           JOIN schedule ON schedule.id = w.schedule_id WHERE w.place <= {{1}}"
    );
    #[derive(FromQueryResult)]
    struct Due {
        schedule_id: Uuid,
        namespace_id: Uuid,
        name: String,
        since: Timestamp,
    }
    let statement = |sql: &str| {
        let values = vec![before.0.into(), limit.cast_signed().into()];
        let namespaces = BulkValues::default().uuid("id", namespaces.iter().copied());
        namespaces.statement(store.dialect(), sql, values)
    };
    let due = Due::find_by_statement(statement(&due)).all(store.read()).await?;
    let mut all: Vec<StalledSchedule> = due
        .into_iter()
        .map(|Due { schedule_id, namespace_id, name, since }| StalledSchedule {
            schedule_id,
            namespace_id,
            name,
            run_id: None,
            queue: None,
            since,
        })
        .collect();
    let queued = StalledSchedule::find_by_statement(statement(&queued));
    all.extend(queued.all(store.read()).await?);
    let unserved = format!(
        "SELECT w.schedule_id, w.namespace_id, schedule.name, w.since, w.run_id, w.queue FROM ( \
             SELECT r.schedule_id, job.namespace_id, job.created_at AS since, r.id AS run_id, \
               job.queue, row_number() OVER ( \
                 PARTITION BY job.namespace_id ORDER BY job.created_at, job.id) AS place \
             FROM job JOIN run r ON r.id = job.run_id \
             WHERE {} AND job.created_at <= {{0}} AND job.awaited_until > {{0}} \
               AND r.schedule_id IS NOT NULL AND job.namespace_id IN (SELECT id FROM v)) w \
           JOIN schedule ON schedule.id = w.schedule_id WHERE w.place <= {{1}}",
        queues::unserved(store.dialect(), "{2}"),
    );
    let values = vec![before.0.into(), limit.cast_signed().into(), silent.0.into()];
    let namespaces = BulkValues::default().uuid("id", namespaces.iter().copied());
    let unserved = StalledSchedule::find_by_statement(namespaces.statement(
        store.dialect(),
        &unserved,
        values,
    ));
    all.extend(unserved.all(store.read()).await?);
    Ok(all)
}

/// An alert about stalled work.
#[derive(Clone, Copy, Debug)]
pub struct StallAlert {
    /// The key of the alert.
    pub id: Uuid,
    /// The schedule that the alert is about.
    pub schedule_id: Uuid,
    /// The alert is over unless work of the schedule has waited since this instant or longer.
    pub before: Timestamp,
}

/// The keys of the alerts among these whose schedules still wait.
pub async fn still_waiting(
    store: &Store,
    alerts: &[StallAlert],
    silent: Timestamp,
) -> Result<HashSet<Uuid>, StoreError> {
    let sql = format!(
        "SELECT v.id FROM v WHERE EXISTS (SELECT 1 FROM schedule s WHERE s.id = v.schedule_id \
             AND s.enabled AND s.next_fire_at IS NOT NULL AND s.next_fire_at <= v.before_at \
             AND {BEFORE_PAUSE}) \
           OR EXISTS (SELECT 1 FROM run r WHERE r.schedule_id = v.schedule_id AND {QUEUED} \
             AND r.available_at <= v.before_at) \
           OR EXISTS (SELECT 1 FROM job JOIN run r ON r.id = job.run_id \
             WHERE r.schedule_id = v.schedule_id AND {} AND job.created_at <= v.before_at \
               AND job.awaited_until > v.before_at)",
        queues::unserved(store.dialect(), "{0}"),
    );
    let mut waiting = HashSet::new();
    for alerts in alerts.chunks(MAX_ROWS) {
        let statement = BulkValues::default()
            .uuid("id", alerts.iter().map(|alert| alert.id))
            .uuid("schedule_id", alerts.iter().map(|alert| alert.schedule_id))
            .int("before_at", alerts.iter().map(|alert| alert.before.0))
            .statement(store.dialect(), &sql, vec![silent.0.into()]);
        let rows = KeyRow::find_by_statement(statement).all(store.read()).await?;
        waiting.extend(rows.into_iter().map(|row| row.id));
    }
    Ok(waiting)
}

/// A run that is being executed, or that waits between two attempts.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct LongRun {
    /// The key of the run.
    pub id: Uuid,
    /// The schedule of the run.
    pub schedule_id: Uuid,
    /// The namespace of the run.
    pub namespace_id: Uuid,
    /// When the first attempt of the run started.
    pub started_at: Timestamp,
}

/// The live runs of schedules in these namespaces that started before
/// an instant, longest-running first: at most `limit`.
pub async fn at_work(
    store: &Store,
    namespaces: &[Uuid],
    before: Timestamp,
    limit: u64,
) -> Result<Vec<LongRun>, StoreError> {
    if namespaces.is_empty() {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT r.id, r.schedule_id, r.namespace_id, r.started_at FROM run r \
         WHERE {LIVE} AND r.started_at < {{0}} AND r.schedule_id IS NOT NULL \
           AND r.namespace_id IN (SELECT id FROM v) ORDER BY r.started_at, r.id LIMIT {{1}}"
    );
    let values = vec![before.0.into(), limit.cast_signed().into()];
    let namespaces = BulkValues::default().uuid("id", namespaces.iter().copied());
    let statement = namespaces.statement(store.dialect(), &sql, values);
    Ok(LongRun::find_by_statement(statement).all(store.read()).await?)
}

/// The runs among these that are still live.
pub async fn still_at_work(store: &Store, runs: &[Uuid]) -> Result<HashSet<Uuid>, StoreError> {
    let sql = format!("SELECT r.id FROM v JOIN run r ON r.id = v.id WHERE {LIVE}");
    let mut still = HashSet::new();
    for runs in runs.chunks(MAX_ROWS) {
        let runs = BulkValues::default().uuid("id", runs.iter().copied());
        let statement = runs.statement(store.dialect(), &sql, vec![]);
        let rows = KeyRow::find_by_statement(statement).all(store.read()).await?;
        still.extend(rows.into_iter().map(|row| row.id));
    }
    Ok(still)
}

/// A page of the enabled schedules in these namespaces, by key.
pub async fn enabled(
    store: &Store,
    namespaces: &[Uuid],
    after: Uuid,
    limit: u64,
) -> Result<Vec<schedule::Model>, StoreError> {
    let query = schedule::Entity::find()
        .filter(schedule::Column::NamespaceId.is_in(namespaces.iter().copied()))
        .filter(schedule::Column::Enabled.eq(true))
        .filter(schedule::Column::DeletedAt.is_null())
        .filter(schedule::Column::Id.gt(after))
        .order_by_asc(schedule::Column::Id)
        .limit(limit);
    Ok(query.all(store.read()).await?)
}

/// The condition for a run that has not settled, worded exactly as in the partial index.
const LIVE: &str = "r.state IN ('queued', 'running', 'retrying')";

/// The condition for a run that waits for a node, worded exactly as in the partial index.
const QUEUED: &str =
    "r.state IN ('queued', 'retrying') AND r.state = 'queued' AND r.group_id IS NULL";

/// The names of the live nodes.
pub async fn living_nodes(store: &Store) -> Result<Vec<String>, StoreError> {
    use entity::node::{Column, Entity, State};
    let query =
        Entity::find().select_only().column(Column::Name).filter(Column::State.eq(State::Alive));
    Ok(query.into_tuple().all(store.read()).await?)
}

/// The names of the schedules in a namespace that match the search, or of all schedules if there is
/// no search. Deleted schedules are left out.
pub async fn sought(
    store: &Store,
    namespace: Uuid,
    ids: &[Uuid],
    search: Option<TimedSearch>,
) -> Result<Vec<(Uuid, String)>, StoreError> {
    let filter = schedules::Filter { search, ..schedules::Filter::default() };
    let query = schedules::matching(store, &Within::One(namespace), &filter)
        .filter(schedule::Column::Id.is_in(ids.iter().copied()))
        .select_only()
        .column(schedule::Column::Id)
        .column(schedule::Column::Name);
    Ok(query.into_tuple().all(store.read()).await?)
}
