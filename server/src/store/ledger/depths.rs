//! How many runs and jobs wait, by namespace, and the statistics of that.
//!
//! A count of what waits at one moment stands for the time since the previous count. What is stored
//! is the product of the two: it can be added up over minutes, hours and namespaces, and divided by
//! the length of any period it is the average number that waited.

use entity::{Timestamp, job};
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult, Value};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, MAX_ROWS},
        within::Within,
    },
};

/// What waits in a namespace at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct NamespaceQueueDepth {
    /// The namespace of the runs and jobs.
    pub namespace_id: Uuid,
    /// Number of runs that could start, and wait for a node or for their group.
    pub runs: i64,
    /// Number of jobs that wait for a worker.
    pub jobs: i64,
}

/// What waits in several namespaces together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct WaitingCounts {
    /// Number of runs that could start, and wait for a node or for their group.
    pub runs: i64,
    /// Number of jobs that wait for a worker.
    pub jobs: i64,
}

/// The condition that a run waits at `$1`. All live states are listed, because otherwise the
/// database would not use the partial index.
const RUN_WAITS: &str = "run.state IN ('queued', 'running', 'retrying') \
    AND run.state IN ('queued', 'retrying') AND run.available_at <= $1";

/// The condition that a job waits at `$1`.
fn job_waits() -> String {
    format!("job.state = '{}' AND job.awaited_until > $1", job::State::Waiting.to_value())
}

/// What waits in the namespaces of a scope. Live runs are read one by one.
pub async fn waiting(
    store: &Store,
    within: &Within,
    now: Timestamp,
) -> Result<WaitingCounts, StoreError> {
    let mut values: Vec<Value> = vec![now.0.into()];
    let only = within.compared(&mut values);
    let only = only.map(|only| format!(" AND namespace_id {only}")).unwrap_or_default();
    let days = store.dialect().live_runs("run.id", now);
    let sql = format!(
        "SELECT (SELECT count(*) FROM run WHERE {RUN_WAITS}{days}{only}) AS runs, \
           (SELECT count(*) FROM job WHERE {}{only}) AS jobs",
        job_waits()
    );
    let statement = store.dialect().statement(sql, values);
    Ok(WaitingCounts::find_by_statement(statement).one(store.read()).await?.unwrap_or_default())
}

impl Store {
    /// What waits in each namespace. Namespaces in which nothing waits are left out.
    ///
    /// Live runs are read one by one, so call this rarely.
    pub async fn queue_depths(
        &self,
        now: Timestamp,
    ) -> Result<Vec<NamespaceQueueDepth>, StoreError> {
        let days = self.dialect().live_runs("run.id", now);
        let sql = format!(
            "SELECT namespace_id, CAST(sum(runs) AS bigint) AS runs, \
               CAST(sum(jobs) AS bigint) AS jobs \
             FROM (SELECT run.namespace_id AS namespace_id, count(*) AS runs, 0 AS jobs FROM run \
                 WHERE {RUN_WAITS}{days} GROUP BY run.namespace_id \
               UNION ALL SELECT job.namespace_id, 0, count(*) FROM job \
                 WHERE {} GROUP BY job.namespace_id) waiting \
             GROUP BY namespace_id ORDER BY namespace_id",
            job_waits()
        );
        let statement = self.dialect().statement(sql, [now.0.into()]);
        Ok(NamespaceQueueDepth::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Adds the waiting time of these queues to the statistics of a minute.
    pub async fn add_depths(
        &self,
        tx: &DatabaseTransaction,
        minute: Timestamp,
        depths: &[NamespaceQueueDepth],
        waited_ms: i64,
    ) -> Result<(), StoreError> {
        for part in depths.chunks(MAX_ROWS) {
            let rows = BulkValues::default()
                .uuid("namespace_id", part.iter().map(|depth| depth.namespace_id))
                .int("minute", part.iter().map(|_| minute.0))
                .int("runs", part.iter().map(|depth| depth.runs.saturating_mul(waited_ms)))
                .int("jobs", part.iter().map(|depth| depth.jobs.saturating_mul(waited_ms)));
            let sql = "INSERT INTO run_stat (namespace_id, minute, runs_waited_ms, jobs_waited_ms) \
                 SELECT namespace_id, minute, runs, jobs FROM v WHERE true \
                 ON CONFLICT (namespace_id, minute) DO UPDATE SET \
                   runs_waited_ms = run_stat.runs_waited_ms + excluded.runs_waited_ms, \
                   jobs_waited_ms = run_stat.jobs_waited_ms + excluded.jobs_waited_ms";
            tx.execute_raw(rows.statement(self.dialect(), sql, vec![])).await?;
        }
        Ok(())
    }
}
