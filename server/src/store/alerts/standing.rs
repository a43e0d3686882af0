//! Whether what went badly still does.

use std::collections::HashSet;

use entity::{Timestamp, schedule};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::bulk::{Bulk, MAX_ROWS},
    reads::{schedules, search::Sought, within::Within},
    workers::queues,
};

/// So many runs of a schedule are looked at for failures in a row.
pub const LONGEST_STREAK: i64 = 50;

/// A schedule that is due, or of which a run waits, and that nobody takes.
#[derive(Clone, Debug, FromQueryResult)]
pub struct StalledSchedule {
    /// The schedule.
    pub schedule_id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// The schedule's name.
    pub name: String,
    /// The run that waits; none if it is the schedule that does.
    pub run_id: Option<Uuid>,
    /// The queue that no worker pulls from, if that is what it waits for.
    pub queue: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

/// What has become of a schedule whose runs failed.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct Mended {
    /// The alert.
    pub id: Uuid,
    /// When a later run succeeded.
    pub mended_at: Option<Timestamp>,
    /// Whether the schedule is still there.
    pub lives: bool,
}

/// How many of the last runs of each of those schedules that came to an end failed, one after the other; counted to
/// [`LONGEST_STREAK`].
pub async fn streaks(store: &Store, ids: &[Uuid]) -> Result<Vec<(Uuid, i64)>, StoreError> {
    #[derive(FromQueryResult)]
    struct Row {
        id: Uuid,
        failures: i64,
    }
    if ids.is_empty() {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT v.id, (SELECT count(*) FROM (SELECT t.state, \
             sum(CASE WHEN t.state = 'succeeded' THEN 1 ELSE 0 END) OVER (ORDER BY t.id DESC) \
               AS good \
           FROM (SELECT r.id, r.state FROM run r WHERE r.schedule_id = v.id \
             AND r.trigger <> 'backfill' AND r.state IN ('succeeded', 'failed', 'timed_out') \
             ORDER BY r.id DESC LIMIT {LONGEST_STREAK}) t) last_runs \
           WHERE last_runs.good = 0 AND last_runs.state IN ('failed', 'timed_out')) AS failures \
         FROM v"
    );
    let statement =
        Bulk::default().uuid("id", ids.iter().copied()).statement(store.dialect(), &sql, vec![]);
    let rows = Row::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.failures)).collect())
}

/// Whether a later run of their schedules has succeeded, by alert: (alert, schedule, last run that
/// failed). A run of an older fire that ends later says nothing about the newer one.
pub async fn mended(
    store: &Store,
    alerts: &[(Uuid, Uuid, Uuid)],
) -> Result<Vec<Mended>, StoreError> {
    if alerts.is_empty() {
        return Ok(vec![]);
    }
    let statement = Bulk::default()
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
    Ok(Mended::find_by_statement(statement).all(store.read()).await?)
}

/// What of those namespaces has waited since `before` or longer: schedules that nobody claims, and
/// schedules with runs outside of groups that nobody takes, by the first of these; at most `limit`
/// of each and namespace, those first that have waited for longest. Beside these, runs whose task has
/// been in a queue as long without a worker that was heard since `silent` and may take it.
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
    let due = "SELECT d.schedule_id, d.namespace_id, d.name, d.since FROM ( \
           SELECT s.id AS schedule_id, s.namespace_id, s.name, s.next_fire_at AS since, \
             row_number() OVER (PARTITION BY s.namespace_id ORDER BY s.next_fire_at, s.id) AS place \
           FROM schedule s WHERE s.enabled AND s.next_fire_at IS NOT NULL \
             AND s.next_fire_at <= {0} AND s.namespace_id IN (SELECT id FROM v)) d \
         WHERE d.place <= {1}";
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
        let namespaces = Bulk::default().uuid("id", namespaces.iter().copied());
        namespaces.statement(store.dialect(), sql, values)
    };
    let due = Due::find_by_statement(statement(due)).all(store.read()).await?;
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
    let namespaces = Bulk::default().uuid("id", namespaces.iter().copied());
    let unserved = StalledSchedule::find_by_statement(namespaces.statement(
        store.dialect(),
        &unserved,
        values,
    ));
    all.extend(unserved.all(store.read()).await?);
    Ok(all)
}

/// Which of those schedules wait since `before` or longer.
pub async fn still_waiting(
    store: &Store,
    schedules: &[Uuid],
    before: Timestamp,
    silent: Timestamp,
) -> Result<HashSet<Uuid>, StoreError> {
    #[derive(FromQueryResult)]
    struct Row {
        id: Uuid,
    }
    let sql = format!(
        "SELECT v.id FROM v WHERE EXISTS (SELECT 1 FROM schedule s WHERE s.id = v.id \
             AND s.enabled AND s.next_fire_at IS NOT NULL AND s.next_fire_at <= {{0}}) \
           OR EXISTS (SELECT 1 FROM run r WHERE r.schedule_id = v.id AND {QUEUED} \
             AND r.available_at <= {{0}}) \
           OR EXISTS (SELECT 1 FROM job JOIN run r ON r.id = job.run_id \
             WHERE r.schedule_id = v.id AND {} AND job.created_at <= {{0}} \
               AND job.awaited_until > {{0}})",
        queues::unserved(store.dialect(), "{1}"),
    );
    let mut waiting = HashSet::new();
    for schedules in schedules.chunks(MAX_ROWS) {
        let schedules = Bulk::default().uuid("id", schedules.iter().copied());
        let statement =
            schedules.statement(store.dialect(), &sql, vec![before.0.into(), silent.0.into()]);
        let rows = Row::find_by_statement(statement).all(store.read()).await?;
        waiting.extend(rows.into_iter().map(|row| row.id));
    }
    Ok(waiting)
}

/// A run that is at work, or between two attempts.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct LongRun {
    /// The run.
    pub id: Uuid,
    /// Its schedule.
    pub schedule_id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// When its first attempt started.
    pub started_at: Timestamp,
}

/// The runs of schedules of those namespaces that started before an instant and go on: at most
/// `limit`, those first that have taken longest.
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
    let namespaces = Bulk::default().uuid("id", namespaces.iter().copied());
    let statement = namespaces.statement(store.dialect(), &sql, values);
    Ok(LongRun::find_by_statement(statement).all(store.read()).await?)
}

/// Which of those runs go on.
pub async fn still_at_work(store: &Store, runs: &[Uuid]) -> Result<HashSet<Uuid>, StoreError> {
    #[derive(FromQueryResult)]
    struct Row {
        id: Uuid,
    }
    let sql = format!("SELECT r.id FROM v JOIN run r ON r.id = v.id WHERE {LIVE}");
    let mut still = HashSet::new();
    for runs in runs.chunks(MAX_ROWS) {
        let runs = Bulk::default().uuid("id", runs.iter().copied());
        let statement = runs.statement(store.dialect(), &sql, vec![]);
        let rows = Row::find_by_statement(statement).all(store.read()).await?;
        still.extend(rows.into_iter().map(|row| row.id));
    }
    Ok(still)
}

/// A page of the schedules of those namespaces that are enabled, by key.
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

/// A run that has not settled, as the index of those has it.
const LIVE: &str = "r.state IN ('queued', 'running', 'retrying')";

/// A run that waits for a node, as the index of those has it.
const QUEUED: &str =
    "r.state IN ('queued', 'retrying') AND r.state = 'queued' AND r.group_id IS NULL";

/// The names of those nodes that live.
pub async fn living_nodes(store: &Store) -> Result<Vec<String>, StoreError> {
    use entity::node::{Column, Entity, State};
    let query =
        Entity::find().select_only().column(Column::Name).filter(Column::State.eq(State::Alive));
    Ok(query.into_tuple().all(store.read()).await?)
}

/// Of those schedules of a namespace, the names of the ones that are sought; of all, without a
/// search. Deleted ones are not among them.
pub async fn sought(
    store: &Store,
    namespace: Uuid,
    ids: &[Uuid],
    search: Option<Sought>,
) -> Result<Vec<(Uuid, String)>, StoreError> {
    let filter = schedules::Filter { search, ..schedules::Filter::default() };
    let query = schedules::matching(store, &Within::One(namespace), &filter)
        .filter(schedule::Column::Id.is_in(ids.iter().copied()))
        .select_only()
        .column(schedule::Column::Id)
        .column(schedule::Column::Name);
    Ok(query.into_tuple().all(store.read()).await?)
}
