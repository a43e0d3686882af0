//! Looks after the jobs that attempts of this node wait for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use entity::{Timestamp, job::State};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::LEASE;
use crate::{
    clock::Clock,
    store::{Store, StoreError, workers::awaited::Progress},
};

/// A node that is not heard for so long waits for nothing.
pub(super) const AWAITED: TimeDelta = TimeDelta::seconds(30);
/// It says that it waits so often, and looks as often whose workers are lost.
const SAY: Duration = Duration::from_secs(2);
/// What other nodes write may wake nobody here.
const POLL: Duration = Duration::from_millis(500);
/// Between two looks: what is written meanwhile is seen by the next one.
const PACE: Duration = Duration::from_millis(3);
/// So long what has ended is kept, for a worker that repeats itself.
const KEPT: TimeDelta = TimeDelta::minutes(10);
const FORGET: Duration = Duration::from_secs(60);
const FORGET_AT_ONCE: u64 = 1_000;
/// After so long without saying so the database was away, or this process.
const GAP: Duration = Duration::from_secs(10);

/// Removes what ended, or is not waited for, long enough ago; all of it, a thousand at a time.
pub(in crate::engine) async fn forget(store: &Store, clock: &Clock) -> Result<(), StoreError> {
    let since = Timestamp::from(clock.now() - KEPT);
    while store.forget_jobs(since, FORGET_AT_ONCE).await? == FORGET_AT_ONCE {}
    Ok(())
}

/// What an attempt is told of its job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// None before the first look.
    pub(super) state: Option<State>,
    /// How many lines there are.
    pub(super) lines: i64,
    /// Who has it.
    pub(super) worker: Option<String>,
}

/// While the watch runs. If it ends by a defect, the next job that is waited for starts another.
struct Running<'a>(&'a Watcher);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.locked().is_running = false;
        }
    }
}

/// The jobs that are waited for here.
#[derive(Debug)]
pub(super) struct Watcher {
    store: Store,
    clock: Clock,
    inner: Mutex<Inner>,
    /// There is another one.
    more: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: HashMap<Uuid, watch::Sender<News>>,
    is_running: bool,
}

impl Watcher {
    pub(super) fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock, inner: Mutex::default(), more: Notify::new() }
    }

    /// Follows a job. The first one starts the watch, the last one that leaves ends it.
    pub(super) fn join(self: &Arc<Self>, id: Uuid) -> watch::Receiver<News> {
        let (sender, receiver) = watch::channel(News::default());
        let mut inner = self.locked();
        inner.waiting.insert(id, sender);
        if !std::mem::replace(&mut inner.is_running, true) {
            tokio::spawn(self.clone().run());
        }
        drop(inner);
        self.more.notify_one();
        receiver
    }

    pub(super) fn leave(&self, id: Uuid) {
        self.locked().waiting.remove(&id);
    }

    async fn run(self: Arc<Self>) {
        // Real time, whatever the application's clock shows: it spares the database.
        let pacer = Clock::system();
        let mut changes = self.store.changes().follow();
        let _running = Running(&self);
        let (mut said, mut forgot) = (None::<Instant>, None::<Instant>);
        // Workers that could not be heard, for the database was away, have time to be.
        let mut loses_from = None::<Instant>;
        let is_due = |last: Option<Instant>, every| last.is_none_or(|at| at.elapsed() >= every);
        loop {
            changes.borrow_and_update();
            let ids = {
                let mut inner = self.locked();
                if inner.waiting.is_empty() {
                    inner.is_running = false;
                    return;
                }
                inner.waiting.keys().copied().collect::<Vec<_>>()
            };
            if is_due(said, SAY) {
                let now = pacer.instant();
                if said.is_some_and(|said| now.duration_since(said) > GAP) {
                    loses_from = Some(now + LEASE);
                }
                let may_lose = loses_from.is_none_or(|from| now >= from);
                match self.say(&ids, may_lose).await {
                    Ok(()) => said = Some(now),
                    Err(error) => {
                        loses_from = Some(now + LEASE);
                        self.tell(Err(error));
                    }
                }
            }
            if is_due(forgot, FORGET) {
                forgot = Some(pacer.instant());
                self.tell(forget(&self.store, &self.clock).await);
            }
            match self.store.progress_of_jobs(&ids).await {
                Ok(progress) => self.spread(&ids, progress),
                Err(error) => self.tell(Err(error)),
            }
            pacer.sleep(PACE).await;
            tokio::select! {
                // The store holds the other end.
                _ = changes.changed() => {}
                () = self.more.notified() => {}
                () = pacer.sleep(POLL) => {}
            }
        }
    }

    async fn say(&self, ids: &[Uuid], may_lose: bool) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.store.await_jobs(ids, now.into(), (now + AWAITED).into(), may_lose).await
    }

    /// An outage costs a look; the next one comes soon.
    fn tell(&self, answer: Result<(), StoreError>) {
        if let Err(error) = answer {
            tracing::warn!("failed to look after jobs of workers, and tries again: {error}");
        }
    }

    fn spread(&self, asked: &[Uuid], progress: Vec<Progress>) {
        let found: HashMap<Uuid, Progress> =
            progress.into_iter().map(|progress| (progress.id, progress)).collect();
        let inner = self.locked();
        for id in asked {
            let Some(sender) = inner.waiting.get(id) else { continue };
            let news = match found.get(id) {
                Some(Progress { state, lines, worker, .. }) => {
                    News { state: Some(*state), lines: *lines, worker: worker.clone() }
                }
                // Somebody has removed it.
                None => News { state: Some(State::Cancelled), ..sender.borrow().clone() },
            };
            sender.send_if_modified(|last| {
                let is_other = *last != news;
                if is_other {
                    // The name of a worker that has left is not in the tables any more.
                    let worker = news.worker.clone().or_else(|| last.worker.take());
                    *last = News { worker, ..news.clone() };
                }
                is_other
            });
        }
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
