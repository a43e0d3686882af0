//! Watches the jobs for which this node's attempts wait.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use entity::{Timestamp, job::State};
use serde_json::Value;
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::LEASE;
use crate::{
    clock::Clock,
    store::{Store, StoreError, workers::awaited::JobProgress},
};

/// A node that has not renewed its wait for this long no longer counts as waiting.
pub(super) const AWAITED: TimeDelta = TimeDelta::seconds(30);
/// How often a node checks for waits to renew and for lost workers.
const SAY: Duration = Duration::from_secs(2);
/// A wait is renewed when it is shorter than that of a new job by this time.
const SLACK: TimeDelta = TimeDelta::seconds(10);
/// The interval between two queries of all jobs.
/// They are needed because a change that another node writes may not wake this node.
const POLL: Duration = Duration::from_millis(500);
/// The shortest pause between two queries; the next query sees all changes made in between.
/// The pause is at least as long as the last query took,
/// so that queries take at most half of a connection's time.
const PACE: Duration = Duration::from_millis(3);
/// How long ended jobs are kept, for a worker that repeats a report.
const KEPT: TimeDelta = TimeDelta::minutes(10);
const FORGET: Duration = Duration::from_secs(60);
const FORGET_AT_ONCE: u64 = 1_000;
/// If no wait was renewed for this long, the database was
/// unreachable or this process was suspended.
const GAP: Duration = Duration::from_secs(10);

/// Removes all jobs that ended or were abandoned long enough ago, at most a thousand at a time.
pub(in crate::engine) async fn forget(store: &Store, clock: &Clock) -> Result<(), StoreError> {
    let since = Timestamp::from(clock.now() - KEPT);
    while store.forget_jobs(since, FORGET_AT_ONCE).await? {}
    Ok(())
}

/// The facts that an attempt learns about its job.
#[derive(Clone, Debug, Default)]
pub(super) struct JobNews {
    /// The state of the job; `None` before the first query.
    pub(super) state: Option<State>,
    /// Number of log lines; of a long output, only those of its kept beginning.
    pub(super) lines: i64,
    /// Whether the output is long. Its end is copied when the job has ended.
    pub(super) is_long: bool,
    /// The name of the worker that holds the job.
    pub(super) worker: Option<String>,
    /// The output of a job that succeeded.
    pub(super) output: Option<Value>,
    /// The error of a job that failed.
    pub(super) error: Option<String>,
    /// Whether another attempt would fail as well.
    pub(super) is_final: bool,
}

pub(super) fn is_ended(state: State) -> bool {
    !matches!(state, State::Waiting | State::Held)
}

/// Exists while the watch runs. If a bug ends the watch, the next job starts another.
struct Running<'a>(&'a Watcher);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.locked().is_running = false;
        }
    }
}

/// The jobs for which this node waits.
#[derive(Debug)]
pub(super) struct Watcher {
    store: Store,
    clock: Clock,
    inner: Mutex<Inner>,
    /// Signals that a job was added.
    more: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: HashMap<Uuid, watch::Sender<JobNews>>,
    /// Jobs that have joined since the last query. They may have changed before.
    joined: HashSet<Uuid>,
    is_running: bool,
}

impl Watcher {
    pub(super) fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock, inner: Mutex::default(), more: Notify::new() }
    }

    /// Follows a job.
    /// The first job that joins starts the watch, and the last one that leaves ends it.
    pub(super) fn join(self: &Arc<Self>, id: Uuid) -> watch::Receiver<JobNews> {
        let (sender, receiver) = watch::channel(JobNews::default());
        let mut inner = self.locked();
        inner.waiting.insert(id, sender);
        inner.joined.insert(id);
        if !std::mem::replace(&mut inner.is_running, true) {
            tokio::spawn(self.clone().run());
        }
        drop(inner);
        self.more.notify_one();
        receiver
    }

    pub(super) fn leave(&self, id: Uuid) {
        let mut inner = self.locked();
        inner.waiting.remove(&id);
        inner.joined.remove(&id);
    }

    async fn run(self: Arc<Self>) {
        // The pauses use real time, not the application's
        // clock: they only limit the load on the database.
        let pacer = Clock::system();
        let mut changes = self.store.changes().follow();
        let _running = Running(&self);
        let (mut said, mut forgot, mut saw) = (None::<Instant>, None::<Instant>, None::<Instant>);
        // When all jobs were last queried, and the number of other nodes' writes before that.
        let mut looked = None::<(Instant, u64)>;
        // If the database was unreachable, workers could not report.
        // They get time to do so: as long as a lease, on the clock by which leases end.
        let mut loses_from = None::<Instant>;
        let is_due = |last: Option<Instant>, every| last.is_none_or(|at| at.elapsed() >= every);
        loop {
            changes.borrow_and_update();
            let heard = self.store.changes().count_heard();
            // All changes of this process are known. If there may be others, all jobs are queried.
            let is_known =
                looked.is_some_and(|(at, before)| heard == before && at.elapsed() < POLL);
            let touched = self.store.changes().touched_jobs().take();
            let only = touched.filter(|_| is_known && !is_due(said, SAY));
            let is_all = only.is_none();
            let Some(ids) = self.open_jobs(only) else { return };
            if is_due(said, SAY) {
                let now = pacer.instant();
                let leased = self.clock.instant();
                if said.is_some_and(|said| now.duration_since(said) > GAP) {
                    loses_from = Some(leased + LEASE);
                }
                let may_lose = loses_from.is_none_or(|from| leased >= from);
                match self.say(&ids, may_lose).await {
                    Ok(()) => said = Some(now),
                    Err(error) => {
                        loses_from = Some(leased + LEASE);
                        self.tell(Err(error));
                    }
                }
            }
            if is_due(forgot, FORGET) {
                forgot = Some(pacer.instant());
                self.tell(forget(&self.store, &self.clock).await);
            }
            let begun = pacer.instant();
            // Many jobs may wait for a worker.
            // Once per interval all of them are read, to see which were removed.
            let all = is_due(saw, SAY);
            match self.store.progress_of_jobs(&ids, all).await {
                Ok(progress) => {
                    if is_all {
                        looked = Some((begun, heard));
                    }
                    if all {
                        saw = Some(begun);
                        self.miss(&ids, &progress.iter().map(|progress| progress.id).collect());
                    }
                    self.spread(progress);
                }
                Err(error) => {
                    looked = None;
                    self.tell(Err(error));
                }
            }
            pacer.sleep(PACE.max(pacer.instant() - begun)).await;
            tokio::select! {
                // This wait cannot fail, because the store holds the sender.
                _ = changes.changed() => {}
                () = self.more.notified() => {}
                () = pacer.sleep(POLL) => {}
            }
        }
    }

    /// The jobs that have not ended: all, or those of `only` and those that have just joined.
    /// `None` if no attempt waits for a job; the watch is then over.
    fn open_jobs(&self, only: Option<HashSet<Uuid>>) -> Option<Vec<Uuid>> {
        let mut inner = self.locked();
        if inner.waiting.is_empty() {
            inner.is_running = false;
            return None;
        }
        let joined = std::mem::take(&mut inner.joined);
        // The attempt of an ended job may still be copying the job's last lines.
        let is_open = |news: &watch::Sender<JobNews>| !news.borrow().state.is_some_and(is_ended);
        let Some(mut only) = only else {
            let open = inner.waiting.iter().filter(|(_, news)| is_open(news));
            return Some(open.map(|(id, _)| *id).collect());
        };
        only.extend(joined);
        only.retain(|id| inner.waiting.get(id).is_some_and(is_open));
        Some(only.into_iter().collect())
    }

    async fn say(&self, ids: &[Uuid], may_lose: bool) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (until, slack_ms) = ((now + AWAITED).into(), SLACK.num_milliseconds());
        self.store.await_jobs(ids, now.into(), until, slack_ms, may_lose).await
    }

    /// Handles the result of a query. An outage only costs that query: the next one follows soon.
    fn tell(&self, answer: Result<(), StoreError>) {
        if let Err(error) = answer {
            tracing::warn!(%error, "failed to watch the jobs of workers; trying again");
        }
    }

    fn spread(&self, progress: Vec<JobProgress>) {
        let inner = self.locked();
        for progress in progress {
            let JobProgress { id, state, lines, head_lines, worker, output, error, is_final } =
                progress;
            let Some(sender) = inner.waiting.get(&id) else { continue };
            let is_long = head_lines.is_some();
            sender.send_if_modified(|last| {
                let seen = (last.state, last.lines, last.is_long, &last.worker);
                let is_other = seen != (Some(state), lines, is_long, &worker);
                if is_other {
                    // The tables no longer contain the name of a worker
                    // that has left, so the last known name is kept.
                    let worker = worker.or_else(|| last.worker.take());
                    let state = Some(state);
                    *last = JobNews { state, lines, is_long, worker, output, error, is_final };
                }
                is_other
            });
        }
    }

    /// Ends the wait for jobs whose rows were removed.
    fn miss(&self, asked: &[Uuid], found: &HashSet<Uuid>) {
        let inner = self.locked();
        for id in asked.iter().filter(|id| !found.contains(id)) {
            let Some(sender) = inner.waiting.get(id) else { continue };
            sender.send_modify(|last| last.state = Some(State::Cancelled));
        }
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
