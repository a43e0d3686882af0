use std::collections::HashMap;

use entity::{
    Timestamp, job,
    worker_queue::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter,
    QueryOrder, QuerySelect, sea_query::OnConflict,
};
use uuid::Uuid;

use crate::store::{DatabaseTransaction, Dialect, Store, StoreError, db::within::Within};

/// The number of waiting jobs and of held jobs in a queue.
#[derive(Clone, Debug, FromQueryResult, PartialEq, Eq)]
pub struct QueueDepth {
    /// The name of the queue.
    pub queue: String,
    /// Number of jobs that wait for a worker.
    pub waiting: i64,
    /// Since when the oldest of the waiting jobs has waited.
    pub oldest: Option<Timestamp>,
    /// Number of jobs that a worker holds.
    pub held: i64,
}

/// The jobs of a queue from which no worker may take them.
#[derive(Clone, Debug, FromQueryResult, PartialEq, Eq)]
pub struct UnservedJobs {
    /// The name of the namespace.
    pub namespace: String,
    /// The name of the queue.
    pub queue: String,
    /// Number of waiting jobs.
    pub waiting: i64,
}

/// The number of workers and jobs in all namespaces.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct WorkerLoad {
    /// Number of workers that have reported recently.
    pub workers: i64,
    /// Number of jobs that wait for a worker.
    pub waiting: i64,
    /// Number of jobs that a worker holds.
    pub held: i64,
}

/// The number of jobs, and of workers that have reported since `silent`.
pub async fn load(
    store: &Store,
    now: Timestamp,
    silent: Timestamp,
) -> Result<WorkerLoad, StoreError> {
    let of = |state: job::State| {
        let state = state.to_value();
        format!("(SELECT count(*) FROM job WHERE state = '{state}' AND awaited_until > $1)")
    };
    let sql = format!(
        "SELECT (SELECT count(*) FROM worker WHERE heartbeat_at >= $2) AS workers, \
           {} AS waiting, {} AS held",
        of(job::State::Waiting),
        of(job::State::Held),
    );
    let statement = store.dialect().statement(sql, [now.0.into(), silent.0.into()]);
    let found = WorkerLoad::find_by_statement(statement).one(store.read()).await?;
    Ok(found.unwrap_or(WorkerLoad { workers: 0, waiting: 0, held: 0 }))
}

/// The queues of a namespace with waiting or held jobs, sorted by name.
pub async fn depths(
    store: &Store,
    namespace: Uuid,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<QueueDepth>, StoreError> {
    let (waiting, held) = (job::State::Waiting.to_value(), job::State::Held.to_value());
    let sql = format!(
        "SELECT queue, \
           CAST(sum(CASE WHEN state = '{waiting}' THEN 1 ELSE 0 END) AS bigint) AS waiting, \
           min(CASE WHEN state = '{waiting}' THEN created_at END) AS oldest, \
           CAST(sum(CASE WHEN state = '{held}' THEN 1 ELSE 0 END) AS bigint) AS held \
         FROM job WHERE namespace_id = $1 AND state IN ('{waiting}', '{held}') \
           AND awaited_until > $2 \
         GROUP BY queue ORDER BY queue LIMIT $3"
    );
    let values = [namespace.into(), now.0.into(), limit.cast_signed().into()];
    let statement = store.dialect().statement(sql, values);
    Ok(QueueDepth::find_by_statement(statement).all(store.read()).await?)
}

/// The queues of a namespace that have a limit, sorted by name.
pub async fn limited<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::NamespaceId.eq(namespace));
    Ok(query.order_by_asc(Column::Name).limit(limit).all(connection).await?)
}

/// Whether any queue has a limit, in any namespace.
pub async fn any_limited<C: ConnectionTrait>(connection: &C) -> Result<bool, StoreError> {
    let query = Entity::find().select_only().column(Column::Id).limit(1);
    let found: Option<Uuid> = query.into_tuple().one(connection).await?;
    Ok(found.is_some())
}

/// The limit of this queue, locked until the transaction ends; `None` if it has no limit.
pub async fn lock_limit(
    tx: &DatabaseTransaction,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Name.eq(name))
        .lock_exclusive();
    Ok(query.one(tx).await?)
}

/// Sets the limit of a queue, in place of an existing one.
pub async fn limit<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    let replaced = OnConflict::columns([Column::NamespaceId, Column::Name])
        .update_columns([Column::MaxJobs, Column::UpdatedAt])
        .to_owned();
    Entity::insert(row).on_conflict(replaced).exec_without_returning(tx).await?;
    Ok(())
}

/// Removes the limit of a queue.
pub async fn remove_limit<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}

/// How many more jobs may be handed over in those queues that have a limit. The limits are locked
/// in the order of their names, so that two workers cannot both use the last free place.
pub async fn lock_rooms(
    tx: &DatabaseTransaction,
    namespace: Uuid,
    names: &[String],
) -> Result<HashMap<String, u64>, StoreError> {
    let of_names = Column::Name.is_in(names.iter().cloned());
    let query = Entity::find().filter(Column::NamespaceId.eq(namespace)).filter(of_names);
    let rows = query.order_by_asc(Column::Name).lock_exclusive().all(tx).await?;
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let held: Vec<(String, i64)> = job::Entity::find()
        .select_only()
        .column(job::Column::Queue)
        .column_as(job::Column::Id.count(), "held")
        .filter(job::Column::NamespaceId.eq(namespace))
        .filter(job::Column::Queue.is_in(rows.iter().map(|row| row.name.clone())))
        .filter(super::is_held())
        .group_by(job::Column::Queue)
        .into_tuple()
        .all(tx)
        .await?;
    let held: HashMap<String, i64> = held.into_iter().collect();
    let room = |row: Model| {
        let at_work = held.get(&row.name).copied().unwrap_or(0);
        let room = (i64::from(row.max_jobs) - at_work).max(0);
        (row.name, room.unsigned_abs())
    };
    Ok(rows.into_iter().map(room).collect())
}

/// The condition that no worker can take the row `job`: none has reported since `$silent`, accepts
/// new jobs, pulls from the job's queue and has its tags.
pub(in crate::store) fn unserved(dialect: &Dialect, silent: &str) -> String {
    let (pulls, has) =
        (dialect.list_has("w.queues", "job.queue"), dialect.list_within("job.tags", "w.tags"));
    format!(
        "job.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM worker w \
           WHERE w.namespace_id = job.namespace_id AND NOT w.draining \
             AND w.heartbeat_at >= {silent} AND {pulls} AND (job.tags IS NULL OR {has}))"
    )
}

/// The queues in which jobs have waited since `before` or longer without a worker that may take
/// them, those with the most jobs first: at most 100.
pub async fn without_worker(
    store: &Store,
    within: &Within,
    now: Timestamp,
    before: Timestamp,
    silent: Timestamp,
) -> Result<Vec<UnservedJobs>, StoreError> {
    let mut values = vec![now.0.into(), before.0.into(), silent.0.into()];
    let within = within.compared(&mut values);
    let within = within.map(|home| format!(" AND job.namespace_id {home}")).unwrap_or_default();
    let sql = format!(
        "SELECT namespace.name AS namespace, job.queue AS queue, count(*) AS waiting \
         FROM job JOIN namespace ON namespace.id = job.namespace_id \
         WHERE {} AND job.awaited_until > $1 AND job.created_at <= $2{within} \
         GROUP BY namespace.name, job.queue ORDER BY count(*) DESC, job.queue LIMIT 100",
        unserved(store.dialect(), "$3"),
    );
    let statement = store.dialect().statement(sql, values);
    Ok(UnservedJobs::find_by_statement(statement).all(store.read()).await?)
}
