use std::{cmp::Reverse, collections::HashSet, time::Duration};

use chrono::TimeDelta;
use entity::{Timestamp, worker};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{MAX_WAIT_SECONDS, WorkerError, bad};
use crate::{
    access::{Viewer, tokens::random},
    clock::Clock,
    commands::{CommandError, Commands},
    store::{
        DatabaseTransaction,
        workers::{
            jobs::{self, Claim},
            programs, queues,
        },
    },
};

/// So many jobs are handed over at once.
const MAX_JOBS: u64 = 100;
/// Two looks at the tables are so far apart at least, however much is written.
const PACE: Duration = Duration::from_millis(10);
/// What other nodes write may wake nobody here.
const POLL: Duration = Duration::from_secs(1);
/// That it was heard is written down so often at the most.
const BEAT: TimeDelta = TimeDelta::seconds(5);
/// What tokens of jobs begin with.
const PREFIX: &str = "carjob_";

/// A job as its worker gets it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its key.
    pub id: Uuid,
    /// What each word about it names.
    pub token: String,
    /// The queue that it was in.
    pub queue: String,
    /// What is to be done.
    pub task: String,
    /// With what.
    pub input: Value,
    /// Of which run.
    pub about: Value,
    /// How long it may take.
    pub timeout: Duration,
}

/// What came of a poll.
#[derive(Clone, Debug, Default)]
pub struct Polled {
    /// The worker's, from now on.
    pub jobs: Vec<Job>,
    /// Jobs of the worker that it is to end.
    pub stop: Vec<Uuid>,
    /// Whether this server is being stopped: another one answers next.
    pub drain: bool,
}

impl Commands {
    /// Gives a worker jobs, as soon as there are some; nothing, if there are none for that long.
    pub async fn poll_jobs(
        &self,
        who: &Viewer,
        id: Uuid,
        (free, wait_seconds): (u64, u64),
        draining: &CancellationToken,
    ) -> Result<Polled, WorkerError> {
        if wait_seconds > MAX_WAIT_SECONDS {
            return Err(bad("waitSeconds", wait_seconds, "is too long", "give 0 to 20"));
        }
        // Real time, whatever the application's clock shows: a caller waits.
        let pacer = Clock::system();
        let mut changes = self.store.changes().follow();
        let until = pacer.instant() + Duration::from_secs(wait_seconds);
        let mut known = None::<HashSet<Uuid>>;
        loop {
            changes.borrow_and_update();
            let worker = self.worker(who, id).await?;
            self.heard(&worker).await?;
            let stop = jobs::to_stop(self.store.read(), id).await?;
            let known = known.get_or_insert_with(|| stop.iter().copied().collect());
            let jobs = self.take_jobs(&worker, free).await?;
            let is_news = stop.iter().any(|job| !known.contains(job));
            let drain = draining.is_cancelled();
            let left = until.saturating_duration_since(pacer.instant());
            if !jobs.is_empty() || is_news || drain || left.is_zero() {
                return Ok(Polled { jobs, stop, drain });
            }
            pacer.sleep(PACE.min(left)).await;
            tokio::select! {
                // The store holds the other end.
                _ = changes.changed() => {}
                () = draining.cancelled() => {}
                () = pacer.sleep(POLL.min(left)) => {}
            }
        }
    }

    async fn heard(&self, worker: &worker::Model) -> Result<(), WorkerError> {
        let now = self.clock.now();
        if now - worker.heartbeat_at.utc() < BEAT {
            return Ok(());
        }
        let tx = self.store.begin().await?;
        programs::beat(&tx, worker.id, now.into(), worker.draining).await?;
        Ok(self.store.commit_unseen(tx).await?)
    }

    /// Takes what waits for such a worker, as far as it has room.
    async fn take_jobs(&self, worker: &worker::Model, free: u64) -> Result<Vec<Job>, WorkerError> {
        if free == 0 || worker.draining {
            return Ok(Vec::new());
        }
        let now = Timestamp::from(self.clock.now());
        // Mostly there is nothing, and then nobody else has to wait for this.
        if !jobs::is_any_waiting(self.store.read(), worker, now).await? {
            return Ok(Vec::new());
        }
        let tx = self.store.begin().await?;
        let capacity = u64::from(worker.capacity.unsigned_abs());
        let room = capacity.saturating_sub(jobs::held_by(&tx, worker.id).await?);
        let limit = free.min(room).min(MAX_JOBS);
        let rows = match limit {
            0 => Vec::new(),
            limit => self.lock_jobs(&tx, worker, now, limit).await?,
        };
        if rows.is_empty() {
            tx.rollback().await.map_err(crate::store::StoreError::from)?;
            return Ok(Vec::new());
        }
        let mut taken = Vec::with_capacity(rows.len());
        for row in &rows {
            let token = random(PREFIX).map_err(CommandError::from)?;
            taken.push(Claim { id: row.id, token });
        }
        self.store.take_locked_jobs(&tx, worker.id, &taken, now).await?;
        self.store.commit(tx).await?;
        let job = |(row, claim): (entity::job::Model, Claim)| Job {
            id: row.id,
            token: claim.token,
            queue: row.queue,
            task: row.task,
            input: row.input,
            about: row.about,
            timeout: Duration::from_millis(row.timeout_ms.unsigned_abs()),
        };
        Ok(rows.into_iter().zip(taken).map(job).collect())
    }

    /// The jobs that the worker gets now: in a queue with a limit, as many as that leaves room for.
    async fn lock_jobs(
        &self,
        tx: &DatabaseTransaction,
        worker: &worker::Model,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<entity::job::Model>, WorkerError> {
        let queues = &worker.queues.0;
        let rooms = queues::lock_rooms(tx, worker.namespace_id, queues).await?;
        let (limited, free): (Vec<String>, Vec<String>) =
            queues.iter().cloned().partition(|queue| rooms.contains_key(queue));
        let mut found = Vec::new();
        if !free.is_empty() {
            found = self.store.lock_waiting_jobs(tx, (worker, &free), now, limit).await?;
        }
        for queue in limited {
            let room = rooms.get(&queue).copied().unwrap_or(0).min(limit);
            if room > 0 {
                let of_queue = (worker, std::slice::from_ref(&queue));
                found.extend(self.store.lock_waiting_jobs(tx, of_queue, now, room).await?);
            }
        }
        // What is left over stays in its queue: the commit unlocks it.
        found.sort_by_key(|job| (Reverse(job.priority), job.created_at, job.id));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }
}
