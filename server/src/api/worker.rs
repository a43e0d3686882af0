//! Programs that pull tasks, and the queues that they pull from.

use std::collections::HashMap;

use async_graphql::{Context, ID, Object, SimpleObject};
use entity::worker;
use serde_json::json;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    page::cost_by,
    query::namespace_id,
    scalar::{Instant, Long},
};
use crate::{
    commands::{
        Call,
        workers::{MAX_LIMITED, MAX_WORKERS},
    },
    engine::jobs::SILENT,
    store::workers::{
        held, programs,
        queues::{self, QueueDepth},
    },
};

/// Maximum number of queues listed: those with jobs, a worker or a limit.
const MAX_QUEUES: usize = 1_000;

/// A worker: a program that pulls tasks.
#[derive(SimpleObject)]
pub(crate) struct Worker {
    id: ID,
    /// The name that the worker gave itself; several workers may share one.
    name: String,
    /// The queues from which the worker pulls.
    queues: Vec<String>,
    /// The worker's tags, which jobs can require.
    tags: Vec<String>,
    /// The number of jobs that the worker is working on.
    jobs: i64,
    /// How many jobs the worker takes at once.
    capacity: i32,
    /// Whether the worker no longer takes jobs.
    draining: bool,
    /// The version of the worker's program.
    version: String,
    /// The worker's client library and the library's version.
    client: String,
    /// The name of the token with which the worker authenticates.
    token: String,
    /// When it registered.
    registered_at: Instant,
    /// When it was last in contact.
    heartbeat_at: Instant,
}

/// The state of a queue of workers.
#[derive(Debug, Default, PartialEq, SimpleObject)]
pub(crate) struct WorkerQueue {
    name: String,
    /// Workers that pull from the queue and accept jobs.
    workers: i64,
    /// How many more jobs these workers would take, from any queue.
    free: i64,
    /// Jobs that wait for a worker.
    waiting: Long,
    /// Since when the oldest of these jobs has waited.
    waiting_since: Option<Instant>,
    /// Jobs that a worker is working on.
    held: Long,
    /// How many of the queue's jobs all workers together may hold at once; null for no limit.
    max_jobs: Option<i32>,
}

/// A queue after a mutation.
#[derive(SimpleObject)]
pub(crate) struct WorkerQueuePayload {
    queue: WorkerQueue,
}

/// Queries of workers and their queues.
#[derive(Default)]
pub(crate) struct ReadingWorkers;

/// Queries of workers and their queues.
#[Object]
impl ReadingWorkers {
    /// The workers of a namespace that were in contact within the last minute, by name; at most
    /// 1000.
    #[graphql(complexity = "cost_by(100, 100, child_complexity)")]
    async fn workers(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
    ) -> Result<Vec<Worker>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        Ok(of_namespace(cx, namespace)
            .await?
            .into_iter()
            .map(|(row, jobs)| Worker::of(row, jobs))
            .collect())
    }

    /// The queues of a namespace that have jobs, a worker or a limit, by name; at most 1000.
    #[graphql(complexity = "cost_by(100, 100, child_complexity)")]
    async fn worker_queues(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
    ) -> Result<Vec<WorkerQueue>> {
        cx.viewer()?;
        WorkerQueue::all(cx, namespace_id(cx, &namespace).await?).await
    }
}

/// Mutations of worker queues.
#[derive(Default)]
pub(crate) struct OrderingWorkers;

/// Mutations of worker queues.
#[Object]
impl OrderingWorkers {
    /// Limits how many jobs of a queue all workers together may hold at once, 1 to 10000; null
    /// removes the limit. Jobs over a lowered limit continue.
    async fn limit_worker_queue(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The queue's name: 1 to 64 of a-z 0-9 . _ -")] name: String,
        #[graphql(desc = "1 to 10000; if absent, the limit is removed.")] max_jobs: Option<i64>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<WorkerQueuePayload> {
        let right = cx.editor()?;
        let arguments = json!([namespace, name, max_jobs]).to_string();
        let call = Call::new("limitWorkerQueue", &arguments, idempotency_key)?;
        let commands = cx.commands();
        let id = commands.limit_worker_queue(&right, &namespace, &name, max_jobs, &call).await?;
        // The answer to a repeated call may be read after the caller has lost access.
        cx.at_home(Some(id), "namespace", id)?;
        let mut queues = WorkerQueue::all(cx, id).await?.into_iter();
        let queue = queues.find(|queue| queue.name == name);
        // Without a limit, a job or a worker, the queue no longer has an entry.
        let queue = queue.unwrap_or_else(|| WorkerQueue { name, ..WorkerQueue::default() });
        Ok(WorkerQueuePayload { queue })
    }
}

/// The workers of a namespace that were recently in contact, with the number of their jobs.
async fn of_namespace(cx: &Context<'_>, namespace: Uuid) -> Result<Vec<(worker::Model, i64)>> {
    let since = (cx.commands().clock.now() - SILENT).into();
    let read = cx.store().read();
    let workers = programs::list(read, namespace, since, MAX_WORKERS).await?;
    let ids: Vec<Uuid> = workers.iter().map(|worker| worker.id).collect();
    let held = held::held_by_each(read, &ids).await?;
    let with_jobs = |worker: worker::Model| {
        let jobs = held.get(&worker.id).copied().unwrap_or(0);
        (worker, jobs)
    };
    Ok(workers.into_iter().map(with_jobs).collect())
}

impl Worker {
    fn of(row: worker::Model, jobs: i64) -> Self {
        Self {
            id: row.id.into(),
            name: row.name,
            queues: row.queues.0,
            tags: row.tags.0,
            jobs,
            capacity: row.capacity,
            draining: row.draining,
            version: row.version,
            client: row.client,
            token: row.token,
            registered_at: row.registered_at.into(),
            heartbeat_at: row.heartbeat_at.into(),
        }
    }
}

impl WorkerQueue {
    /// The workers of a namespace, by name.
    async fn all(cx: &Context<'_>, namespace: Uuid) -> Result<Vec<Self>> {
        let (store, now) = (cx.store(), cx.commands().clock.now());
        let most = u64::try_from(MAX_QUEUES).unwrap_or(u64::MAX);
        let depths = queues::depths(store, namespace, now.into(), most).await?;
        let limits = queues::limited(store.read(), namespace, MAX_LIMITED).await?;
        let limits = limits.into_iter().map(|row| (row.name, row.max_jobs)).collect();
        let workers = of_namespace(cx, namespace).await?;
        let mut queues = standing(depths, limits, &workers);
        queues.truncate(MAX_QUEUES);
        Ok(queues)
    }
}

/// The state of each queue that has jobs, a limit or a worker.
fn standing(
    depths: Vec<QueueDepth>,
    limits: HashMap<String, i32>,
    workers: &[(worker::Model, i64)],
) -> Vec<WorkerQueue> {
    let mut queues: HashMap<String, WorkerQueue> = HashMap::new();
    let mut queue = |name: &str, change: &dyn Fn(&mut WorkerQueue)| {
        let entry = queues.entry(name.to_owned());
        change(
            entry
                .or_insert_with(|| WorkerQueue { name: name.to_owned(), ..WorkerQueue::default() }),
        );
    };
    for depth in &depths {
        queue(&depth.queue, &|queue| {
            queue.waiting = depth.waiting.into();
            queue.waiting_since = depth.oldest.map(Into::into);
            queue.held = depth.held.into();
        });
    }
    for (name, limit) in &limits {
        queue(name, &|queue| queue.max_jobs = Some(*limit));
    }
    for (worker, jobs) in workers.iter().filter(|(worker, _)| !worker.draining) {
        let free = (i64::from(worker.capacity) - jobs).max(0);
        for name in &worker.queues.0 {
            queue(name, &|queue| {
                queue.workers += 1;
                queue.free += free;
            });
        }
    }
    let mut queues: Vec<WorkerQueue> = queues.into_values().collect();
    queues.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    queues
}

#[cfg(test)]
mod tests {
    use entity::{Strings, Timestamp};

    use super::*;

    fn worker(queues: &[&str], draining: bool) -> worker::Model {
        worker::Model {
            id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            name: "mailer".to_owned(),
            queues: Strings(queues.iter().map(|&queue| queue.to_owned()).collect()),
            tags: Strings(vec![]),
            capacity: 4,
            version: String::new(),
            client: String::new(),
            token_id: Uuid::nil(),
            token: String::new(),
            draining,
            registered_at: Timestamp(0),
            heartbeat_at: Timestamp(0),
        }
    }

    #[test]
    fn a_queue_has_a_line_for_its_jobs_its_workers_or_its_limit() {
        let depth = QueueDepth { queue: "videos".to_owned(), waiting: 3, oldest: None, held: 1 };
        let limits = HashMap::from([("videos".to_owned(), 2), ("rare".to_owned(), 1)]);
        let workers = [(worker(&["emails", "videos"], false), 3), (worker(&["emails"], true), 0)];
        let queues = standing(vec![depth], limits, &workers);
        let lines: Vec<_> = queues
            .iter()
            .map(|q| (&*q.name, q.workers, q.free, q.waiting, q.held, q.max_jobs))
            .collect();
        assert_eq!(
            lines,
            [
                ("emails", 1, 1, Long(0), Long(0), None),
                ("rare", 0, 0, Long(0), Long(0), Some(1)),
                ("videos", 1, 1, Long(3), Long(1), Some(2)),
            ]
        );
    }
}
