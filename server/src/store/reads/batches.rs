//! Reads rows by many keys, with one statement per kind of row, for the API's data loaders.

use std::collections::HashMap;

use entity::{fire, node, run, task_run};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder};
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::{bulk::BulkValues, days::DayRange},
};

/// The runs with these keys.
pub async fn runs(store: &Store, ids: &[Uuid]) -> Result<Vec<run::Model>, StoreError> {
    let query = run::Entity::find().filter(run::Column::Id.is_in(ids.iter().copied()));
    Ok(query.all(store.read()).await?)
}

/// What decides whether a run can be cancelled or retried.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct RunStatus {
    /// The key of the run.
    pub id: Uuid,
    /// The run's state.
    pub state: run::State,
    /// The workflow that the run executes.
    pub workflow_id: Uuid,
}

/// The states and the workflows of these runs.
pub async fn run_states(store: &Store, ids: &[Uuid]) -> Result<Vec<RunStatus>, StoreError> {
    let days = DayRange::of_keys("run.id", ids.iter().copied());
    let statement = BulkValues::default().uuid("id", ids.iter().copied()).days(days).statement(
        store.dialect(),
        "SELECT run.id AS id, run.state AS state, run.workflow_id AS workflow_id \
         FROM v JOIN run ON run.id = v.id {days}",
        vec![],
    );
    Ok(RunStatus::find_by_statement(statement).all(store.read()).await?)
}

/// The fires with these keys.
pub async fn fires(store: &Store, ids: &[Uuid]) -> Result<Vec<fire::Model>, StoreError> {
    let query = fire::Entity::find().filter(fire::Column::Id.is_in(ids.iter().copied()));
    Ok(query.all(store.read()).await?)
}

/// The nodes with these keys.
pub async fn nodes(store: &Store, ids: &[Uuid]) -> Result<Vec<node::Model>, StoreError> {
    let query = node::Entity::find().filter(node::Column::Id.is_in(ids.iter().copied()));
    Ok(query.all(store.read()).await?)
}

/// The first attempts of each of these runs, in order.
pub async fn first_task_runs(
    store: &Store,
    runs: &[Uuid],
    limit: u64,
) -> Result<Vec<task_run::Model>, StoreError> {
    if runs.is_empty() {
        return Ok(vec![]);
    }
    let days = DayRange::of_keys("task_run.run_id", runs.iter().copied());
    let statement = BulkValues::default().uuid("id", runs.iter().copied()).days(days).statement(
        store.dialect(),
        "SELECT * FROM (SELECT task_run.*, row_number() OVER ( \
             PARTITION BY task_run.run_id \
             ORDER BY task_run.started_at, task_run.attempt, task_run.task) AS place \
           FROM v JOIN task_run ON task_run.run_id = v.id {days}) AS numbered \
         WHERE place <= {0} ORDER BY run_id, place",
        vec![i64::try_from(limit).unwrap_or(i64::MAX).into()],
    );
    Ok(task_run::Entity::find().from_raw_sql(statement).all(store.read()).await?)
}

/// How the latest attempt of a run ended.
/// The values are texts from its output, because a worker may return any value under these names.
#[derive(Clone, Debug, FromQueryResult)]
pub struct AttemptEnding {
    /// The key of the run.
    pub run_id: Uuid,
    /// The exit code of a program that was not killed by a signal.
    pub exit_code: Option<String>,
    /// The HTTP status of the response to a request.
    pub status: Option<String>,
    /// The signal that killed a program.
    pub signal: Option<String>,
}

/// How the latest attempt of each of these runs ended. Tasks that never ran do not count.
pub async fn endings(store: &Store, runs: &[Uuid]) -> Result<Vec<AttemptEnding>, StoreError> {
    if runs.is_empty() {
        return Ok(vec![]);
    }
    let days = DayRange::of_keys("task_run.run_id", runs.iter().copied());
    let statement = BulkValues::default().uuid("id", runs.iter().copied()).days(days).statement(
        store.dialect(),
        "SELECT run_id, exit_code, status, signal FROM (SELECT task_run.run_id AS run_id, \
             CAST(task_run.output ->> 'exit_code' AS text) AS exit_code, \
             CAST(task_run.output ->> 'status' AS text) AS status, \
             CAST(task_run.output ->> 'signal' AS text) AS signal, \
             row_number() OVER (PARTITION BY task_run.run_id ORDER BY task_run.started_at DESC, \
               task_run.attempt DESC, task_run.task DESC) AS place \
           FROM v JOIN task_run ON task_run.run_id = v.id {days} \
           WHERE task_run.state <> 'skipped') AS numbered \
         WHERE place = 1",
        vec![],
    );
    Ok(AttemptEnding::find_by_statement(statement).all(store.read()).await?)
}

/// The number of attempts that each of these runs has had.
pub async fn task_run_counts(
    store: &Store,
    runs: &[Uuid],
) -> Result<HashMap<Uuid, i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct TaskRunCount {
        run_id: Uuid,
        found: i64,
    }
    if runs.is_empty() {
        return Ok(HashMap::new());
    }
    let days = DayRange::of_keys("task_run.run_id", runs.iter().copied());
    let statement = BulkValues::default().uuid("id", runs.iter().copied()).days(days).statement(
        store.dialect(),
        "SELECT task_run.run_id AS run_id, count(*) AS found \
         FROM v JOIN task_run ON task_run.run_id = v.id {days} GROUP BY task_run.run_id",
        vec![],
    );
    let rows = TaskRunCount::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.run_id, row.found)).collect())
}

/// The attempts of these runs, in order.
pub async fn task_runs(store: &Store, runs: &[Uuid]) -> Result<Vec<task_run::Model>, StoreError> {
    let query = task_run::Entity::find()
        .filter(task_run::Column::RunId.is_in(runs.iter().copied()))
        .order_by_asc(task_run::Column::RunId)
        .order_by_asc(task_run::Column::StartedAt)
        .order_by_asc(task_run::Column::Attempt);
    Ok(query.all(store.read()).await?)
}

/// The newest run of each of these schedules.
pub async fn last_runs(store: &Store, schedules: &[Uuid]) -> Result<Vec<run::Model>, StoreError> {
    if schedules.is_empty() {
        return Ok(vec![]);
    }
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        "SELECT run.* FROM v JOIN run ON run.id = (SELECT r.id FROM run r \
           WHERE r.schedule_id = v.id ORDER BY r.id DESC LIMIT 1)",
        vec![],
    );
    Ok(run::Entity::find().from_raw_sql(statement).all(store.read()).await?)
}

/// The newest run of each of these schedules that has ended.
pub async fn last_settled_runs(
    store: &Store,
    schedules: &[Uuid],
) -> Result<Vec<run::Model>, StoreError> {
    if schedules.is_empty() {
        return Ok(vec![]);
    }
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        "SELECT run.* FROM v JOIN run ON run.id = (SELECT r.id FROM run r \
           WHERE r.schedule_id = v.id AND r.state NOT IN ('queued', 'running', 'retrying') \
           ORDER BY r.id DESC LIMIT 1)",
        vec![],
    );
    Ok(run::Entity::find().from_raw_sql(statement).all(store.read()).await?)
}

/// The number of live runs of each of these schedules.
pub async fn live_runs(
    store: &Store,
    schedules: &[Uuid],
) -> Result<HashMap<Uuid, i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct LiveRunCount {
        schedule_id: Uuid,
        runs: i64,
    }
    if schedules.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        "SELECT run.schedule_id AS schedule_id, count(*) AS runs \
         FROM v JOIN run ON run.schedule_id = v.id \
         WHERE run.state IN ('queued', 'running', 'retrying') GROUP BY run.schedule_id",
        vec![],
    );
    let rows = LiveRunCount::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.schedule_id, row.runs)).collect())
}

/// The newest fires of each of these schedules, by scheduled time.
pub async fn newest_fires(
    store: &Store,
    schedules: &[Uuid],
    limit: u64,
) -> Result<Vec<fire::Model>, StoreError> {
    if schedules.is_empty() {
        return Ok(vec![]);
    }
    let which = "fire.schedule_id = v.id";
    let first = store.dialect().newest_of_each("fire", which, "fire.scheduled_at DESC", "{0}");
    let sql =
        format!("SELECT fire.* FROM v {first} ORDER BY fire.schedule_id, fire.scheduled_at DESC");
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        &sql,
        vec![i64::try_from(limit).unwrap_or(i64::MAX).into()],
    );
    Ok(fire::Entity::find().from_raw_sql(statement).all(store.read()).await?)
}
