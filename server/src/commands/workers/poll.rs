//! A worker waits for jobs.

use std::{cmp::Reverse, time::Duration};

use chrono::TimeDelta;
use entity::{Timestamp, worker};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    MAX_NAMED, MAX_WAIT_SECONDS, WorkerError, bad,
    poll_step::{POLL, PollLook, PollStep, PollWaits},
};
use crate::{
    access::{Viewer, tokens::random},
    clock::Clock,
    commands::{CommandError, Commands},
    store::{
        DatabaseTransaction,
        workers::{held, jobs::JobClaim, programs, queues},
    },
};

/// Maximum number of jobs in one answer.
const MAX_JOBS: u64 = 100;
/// Minimum interval for recording that the worker is alive and for checking its rights.
const BEAT: Duration = Duration::from_secs(5);
/// Maximum size of the jobs in one answer.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of lost jobs that are sent again in one answer. Each has at most 1 MiB of input.
const MAX_AGAIN: u64 = 4;
/// The prefix of job tokens.
const PREFIX: &str = "carjob_";

/// A job as its worker receives it.
#[derive(Clone, Debug)]
pub struct PolledJob {
    /// The job's key.
    pub id: Uuid,
    /// The token that each request about the job must contain.
    pub token: String,
    /// The queue that the job waited in.
    pub queue: String,
    /// The name of the worker's task.
    pub task: String,
    /// The job's input.
    pub input: Value,
    /// The run that the job belongs to.
    pub about: Value,
    /// How long the job may take.
    pub timeout: Duration,
}

/// The answer to a poll.
#[derive(Clone, Debug, Default)]
pub struct Polled {
    /// The worker's new jobs.
    pub jobs: Vec<PolledJob>,
    /// Jobs of the worker that it must stop.
    pub stop: Vec<Uuid>,
    /// Whether this server is shutting down; the worker should then call another one.
    pub drain: bool,
}

/// A worker's request for jobs.
#[derive(Clone, Debug, Default)]
pub struct PollRequest {
    /// Maximum number of jobs.
    pub free: u64,
    /// How long to wait for jobs if there are none yet.
    pub wait_seconds: u64,
    /// The jobs that the worker holds, if it reports them. Its other jobs were lost on their way to
    /// it, and are sent again.
    pub has: Option<Vec<Uuid>>,
}

impl Commands {
    /// Returns jobs for a worker as soon as there are some, or none when the wait ends. An earlier
    /// wait of the same worker at this node ends.
    pub async fn poll_jobs(
        &self,
        who: &Viewer,
        id: Uuid,
        asked: &PollRequest,
        draining: &CancellationToken,
    ) -> Result<Polled, WorkerError> {
        let wait_seconds = asked.wait_seconds;
        if wait_seconds > MAX_WAIT_SECONDS {
            return Err(bad("waitSeconds", wait_seconds, "is too long", "give 0 to 20"));
        }
        let known = asked.has.as_ref().map_or(0, Vec::len);
        if known > MAX_NAMED {
            let problem = format!("names {known} jobs");
            return Err(bad("jobs", "", problem, "name at most 1000"));
        }
        // Uses real time, not the application's clock, because a caller is waiting.
        let pacer = Clock::system();
        let mut changes = self.store.changes().follow();
        let mut created = self.store.changes().jobs();
        let until = pacer.instant() + Duration::from_secs(wait_seconds);
        let mut worker = self.worker(who, id).await?;
        self.heard(&worker).await?;
        let again = self.lost_on_the_way(&worker, asked).await?;
        if !again.is_empty() {
            let stop = held::to_stop(self.store.read(), id).await?;
            self.board.tells(id, &stop);
            return Ok(Polled { jobs: again, stop, drain: draining.is_cancelled() });
        }
        let told = self.board.told(id);
        let waiting = self.board.waits(id);
        let mut checked = pacer.instant();
        let mut is_first = true;
        loop {
            created.borrow_and_update();
            let change = *changes.borrow_and_update();
            if checked.elapsed() >= BEAT {
                // Meanwhile, the worker may have left, and its token may have lost rights.
                worker = self.worker(who, id).await?;
                self.heard(&worker).await?;
                checked = pacer.instant();
            }
            let may_guess = std::mem::take(&mut is_first) && asked.free > 0;
            let Found { jobs, stop, is_guess, took } =
                self.look_for_jobs(&worker, asked.free, change, may_guess).await?;
            let drain = draining.is_cancelled();
            let is_news = stop.iter().any(|job| !told.contains(job));
            let look = PollLook {
                has_news: !jobs.is_empty() || is_news || drain,
                is_guess,
                has_room: asked.free > 0,
                took,
                left: until.saturating_duration_since(pacer.instant()),
            };
            match look.step() {
                PollStep::Answer => {
                    self.board.tells(id, &stop);
                    return Ok(Polled { jobs, stop, drain });
                }
                PollStep::LookAgain => {}
                PollStep::Wait(waits) => tokio::select! {
                    () = until_next_look(waits, &mut changes, &mut created) => {}
                    () = draining.cancelled() => {}
                    () = waiting.over.cancelled() => return Ok(Polled::default()),
                },
            }
        }
    }

    /// Looks once for jobs that the worker can take, and for those that it must stop.
    async fn look_for_jobs(
        &self,
        worker: &worker::Model,
        free: u64,
        change: u64,
        may_guess: bool,
    ) -> Result<Found, WorkerError> {
        let (now, instant) = (self.clock.now().into(), Clock::system().instant());
        // Where much waits, jobs of the kinds that waited a moment ago probably still do.
        let recent = self.board.recent(instant, POLL / 2);
        let recent = recent.filter(|recent| may_guess && recent.has_for(worker));
        let is_guess = recent.is_some();
        let found = match recent {
            Some(recent) => recent,
            None => self.board.look(&self.store, change, now, instant, POLL / 2).await?,
        };
        let took = instant.elapsed();
        let stop = match found.stops(worker.id) {
            true => held::to_stop(self.store.read(), worker.id).await?,
            false => Vec::new(),
        };
        let jobs = match free > 0 && found.has_for(worker) {
            true => self.take_jobs(worker.id, free).await?,
            false => Vec::new(),
        };
        Ok(Found { jobs, stop, is_guess, took })
    }

    async fn heard(&self, worker: &worker::Model) -> Result<(), WorkerError> {
        let now = self.clock.now();
        if now - worker.heartbeat_at.utc() < TimeDelta::from_std(BEAT).unwrap_or_default() {
            return Ok(());
        }
        let tx = self.store.begin().await?;
        programs::beat(&tx, worker.id, now.into(), None).await?;
        Ok(self.store.commit_unseen(tx).await?)
    }

    /// Jobs that belong to the worker although it does not know of them, because the answer that
    /// contained them was lost.
    async fn lost_on_the_way(
        &self,
        worker: &worker::Model,
        asked: &PollRequest,
    ) -> Result<Vec<PolledJob>, WorkerError> {
        let Some(has) = &asked.has else { return Ok(Vec::new()) };
        // Usually a worker knows all of its jobs.
        if held::held_by(self.store.read(), worker.id).await? <= has.len() as u64 {
            return Ok(Vec::new());
        }
        let tx = self.store.begin().await?;
        let now = self.clock.now().into();
        let rows = held::hand_over_again(&tx, worker.id, has, now, MAX_AGAIN).await?;
        self.store.commit_unseen(tx).await?;
        Ok(rows.into_iter().map(handed_over).collect())
    }

    /// Takes waiting jobs for the worker, up to its free capacity.
    async fn take_jobs(&self, id: Uuid, free: u64) -> Result<Vec<PolledJob>, WorkerError> {
        let now = Timestamp::from(self.clock.now());
        let tx = self.store.begin().await?;
        let worker = programs::lock(&tx, id).await?.ok_or(WorkerError::Unknown)?;
        let capacity = u64::from(worker.capacity.unsigned_abs());
        let room = capacity.saturating_sub(held::held_by(&tx, worker.id).await?);
        let limit = free.min(room).min(MAX_JOBS);
        let mut rows = match limit {
            0 => Vec::new(),
            _ if worker.draining => Vec::new(),
            limit => bounded(self.lock_jobs(&tx, &worker, now, limit).await?),
        };
        if rows.is_empty() {
            tx.rollback().await.map_err(crate::store::StoreError::from)?;
            return Ok(Vec::new());
        }
        let mut taken = Vec::with_capacity(rows.len());
        for row in &mut rows {
            let token = random(PREFIX).map_err(CommandError::from)?;
            row.token = Some(token.clone());
            taken.push(JobClaim { worker: id, id: row.id, token });
        }
        self.store.take_locked_jobs(&tx, &taken, now).await?;
        self.store.commit_jobs(tx, taken.iter().map(|claim| claim.id)).await?;
        Ok(rows.into_iter().map(handed_over).collect())
    }

    /// The jobs that the worker gets now. A queue with a limit gives only as many as the limit
    /// leaves.
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
            found = self.store.lock_waiting_jobs(tx, worker, &free, now, limit).await?;
        }
        for queue in limited {
            let room = rooms.get(&queue).copied().unwrap_or(0).min(limit);
            if room > 0 {
                found.extend(
                    self.store
                        .lock_waiting_jobs(tx, worker, std::slice::from_ref(&queue), now, room)
                        .await?,
                );
            }
        }
        // Jobs that are not taken stay in their queue, and the commit unlocks them.
        found.sort_by_key(|job| (Reverse(job.priority), job.created_at, job.id));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }
}

/// The result of one look for a worker's jobs.
struct Found {
    /// The jobs that it has taken.
    jobs: Vec<PolledJob>,
    /// The jobs that it must stop.
    stop: Vec<Uuid>,
    /// Whether an earlier reading of the tables was used.
    is_guess: bool,
    /// How long reading the tables took.
    took: Duration,
}

/// Waits until the tables may have jobs for a worker.
async fn until_next_look(
    waits: PollWaits,
    changes: &mut watch::Receiver<u64>,
    created: &mut watch::Receiver<u64>,
) {
    // Uses real time, not the application's clock, because a caller is waiting.
    let pacer = Clock::system();
    let changed = async {
        pacer.sleep(waits.before_change).await;
        tokio::select! {
            // Cannot fail: the store keeps the sender alive.
            _ = changes.changed() => {}
            () = pacer.sleep(waits.for_change) => {}
        }
    };
    let job_created = async {
        let Some(pause) = waits.before_job else { return std::future::pending().await };
        if !pause.is_zero() {
            pacer.sleep(pause).await;
        }
        // Cannot fail: the store keeps the sender alive.
        let _ = created.changed().await;
    };
    tokio::select! {
        () = job_created => {}
        () = changed => {}
    }
}

/// As many of the jobs as fit into one answer, but at least one.
fn bounded(rows: Vec<entity::job::Model>) -> Vec<entity::job::Model> {
    let mut bytes = 0;
    let fits = |row: &entity::job::Model| {
        let is_first = bytes == 0;
        bytes += row.input.to_string().len() + row.about.to_string().len();
        is_first || bytes <= MAX_ANSWER_BYTES
    };
    rows.into_iter().take_while(fits).collect()
}

fn handed_over(row: entity::job::Model) -> PolledJob {
    PolledJob {
        id: row.id,
        token: row.token.unwrap_or_default(),
        queue: row.queue,
        task: row.task,
        input: row.input,
        about: row.about,
        timeout: Duration::from_millis(row.timeout_ms.unsigned_abs()),
    }
}
