//! The waiting jobs, read once for all workers that poll this node.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use entity::{Timestamp, worker};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    clock::Clock,
    single_flight::SingleFlight,
    store::{Store, StoreError, workers::jobs::JobKind},
};

/// How long the row of a worker may be used again.
const MOMENT: Duration = Duration::from_secs(1);
/// Up to this many rows of workers are kept without removing old ones.
const FEW_WORKERS: usize = 100;

/// The waiting jobs. After a write, the tables are read once for all waiting workers, however many
/// they are. A worker's own rows are read only if there is something for it.
pub(in crate::commands) struct Board {
    last: tokio::sync::Mutex<Option<CachedReading>>,
    /// The latest known rows of workers.
    workers: SingleFlight<Uuid, (Instant, Option<worker::Model>)>,
    polls: Mutex<HashMap<Uuid, CancellationToken>>,
    /// The jobs that this node has told each worker to stop. A job stays here until it ends.
    told: Mutex<HashMap<Uuid, HashSet<Uuid>>>,
}

#[derive(Clone, Debug)]
struct CachedReading {
    /// The number of the last change that this reading includes.
    change: u64,
    at: Instant,
    found: Arc<BoardReading>,
}

/// The result of reading the tables.
#[derive(Debug, Default)]
pub(super) struct BoardReading {
    waiting: Vec<JobKind>,
    stopping: HashSet<Uuid>,
}

impl BoardReading {
    /// Whether a job that this worker may take is waiting.
    pub(super) fn has_for(&self, worker: &worker::Model) -> bool {
        self.waiting.iter().any(|kind| {
            kind.namespace_id == worker.namespace_id
                && worker.queues.0.contains(&kind.queue)
                && kind.tags.iter().flat_map(|tags| &tags.0).all(|tag| worker.tags.0.contains(tag))
        })
    }

    /// Whether the worker has a job that it must stop.
    pub(super) fn stops(&self, worker: Uuid) -> bool {
        self.stopping.contains(&worker)
    }
}

impl Default for Board {
    fn default() -> Self {
        Self {
            last: tokio::sync::Mutex::default(),
            workers: SingleFlight::new(FEW_WORKERS),
            polls: Mutex::default(),
            told: Mutex::default(),
        }
    }
}

impl Board {
    /// The row of a worker that was read within the last second, or else the result of `read`.
    pub(super) async fn known<E>(
        &self,
        id: Uuid,
        is_heard: impl Fn(&worker::Model) -> bool,
        read: impl Future<Output = Result<Option<worker::Model>, E>>,
    ) -> Result<Option<worker::Model>, E> {
        let slot = self.workers.slot(&id, |(at, _)| is_new(*at));
        if let Some((at, Some(row))) = &*slot.lock().await
            && is_new(*at)
            && is_heard(row)
        {
            return Ok(Some(row.clone()));
        }
        // The slot is not locked during the read. So while the database is away, each caller waits
        // only for its own read.
        let row = read.await?;
        *slot.lock().await = Some((Clock::system().instant(), row.clone()));
        Ok(row)
    }

    /// Stores the row of a worker that was just read; `None` if the worker has left.
    pub(super) async fn knows(&self, id: Uuid, row: Option<worker::Model>) {
        let slot = self.workers.slot(&id, |(at, _)| is_new(*at));
        *slot.lock().await = Some((Clock::system().instant(), row));
    }

    /// Forgets a worker that has left.
    pub(super) async fn forgets(&self, id: Uuid) {
        self.knows(id, None).await;
        self.tells(id, &[]);
    }

    /// A reading that includes the given change and is not older than the given instant.
    pub(super) async fn look(
        &self,
        store: &Store,
        change: u64,
        now: Timestamp,
        instant: Instant,
        age: Duration,
    ) -> Result<Arc<BoardReading>, StoreError> {
        let mut last = self.last.lock().await;
        let is_fresh = |look: &&CachedReading| {
            look.change >= change && instant.saturating_duration_since(look.at) < age
        };
        if let Some(look) = last.as_ref().filter(is_fresh) {
            return Ok(look.found.clone());
        }
        // The change number is noted before reading, so that a write in between causes another
        // read.
        let change = *store.changes().follow().borrow();
        let (waiting, stopping) = store.waiting_for_workers(now).await?;
        self.keeps_told(&stopping);
        let found = Arc::new(BoardReading { waiting, stopping });
        *last = Some(CachedReading { change, at: instant, found: found.clone() });
        Ok(found)
    }

    /// The last reading, if it is not older than this; whatever has changed since then.
    pub(super) fn recent(&self, instant: Instant, age: Duration) -> Option<Arc<BoardReading>> {
        // While another poll reads, the last reading is about to be replaced.
        let last = self.last.try_lock().ok()?;
        let is_recent = |look: &&CachedReading| instant.saturating_duration_since(look.at) < age;
        last.as_ref().filter(is_recent).map(|look| look.found.clone())
    }

    /// Registers a worker's wait. An earlier wait of the same worker at this node ends.
    pub(super) fn waits(&self, worker: Uuid) -> WaitingWorker<'_> {
        let over = CancellationToken::new();
        if let Some(earlier) = self.polls().insert(worker, over.clone()) {
            earlier.cancel();
        }
        WaitingWorker { board: self, worker, over }
    }

    /// The jobs that this node has already told a worker to stop.
    pub(super) fn told(&self, worker: Uuid) -> HashSet<Uuid> {
        self.locked_told().get(&worker).cloned().unwrap_or_default()
    }

    /// Records which jobs a worker has been told to stop so far.
    pub(super) fn tells(&self, worker: Uuid, stop: &[Uuid]) {
        let mut told = self.locked_told();
        if stop.is_empty() {
            told.remove(&worker);
        } else {
            told.insert(worker, stop.iter().copied().collect());
        }
    }

    /// Forgets the workers that have no more jobs to stop: one that has died does not say so.
    fn keeps_told(&self, stopping: &HashSet<Uuid>) {
        self.locked_told().retain(|worker, _| stopping.contains(worker));
    }

    fn locked_told(&self) -> MutexGuard<'_, HashMap<Uuid, HashSet<Uuid>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn polls(&self) -> MutexGuard<'_, HashMap<Uuid, CancellationToken>> {
        self.polls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a worker's row was read so recently that it need not be read again. This uses real time,
/// not the application's clock, because the worker is a waiting program.
fn is_new(read_at: Instant) -> bool {
    Clock::system().instant().saturating_duration_since(read_at) < MOMENT
}

/// A worker that waits at this node.
pub(super) struct WaitingWorker<'a> {
    board: &'a Board,
    worker: Uuid,
    /// Cancelled when a later wait replaces this one.
    pub(super) over: CancellationToken,
}

impl Drop for WaitingWorker<'_> {
    fn drop(&mut self) {
        // A later wait of the worker has its own entry, which must stay.
        if !self.over.is_cancelled() {
            self.board.polls().remove(&self.worker);
        }
    }
}

#[cfg(test)]
mod tests {
    use entity::Strings;

    use super::*;

    fn strings(of: &[&str]) -> Strings {
        Strings(of.iter().map(|&text| text.to_owned()).collect())
    }

    #[test]
    fn a_worker_is_woken_for_jobs_that_it_may_take() {
        let kind = |queue: &str, tags: Option<&[&str]>| JobKind {
            namespace_id: Uuid::nil(),
            queue: queue.to_owned(),
            tags: tags.map(strings),
        };
        let worker = worker::Model {
            id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            name: String::new(),
            queues: strings(&["emails"]),
            tags: strings(&["eu"]),
            capacity: 1,
            version: String::new(),
            client: String::new(),
            token_id: Uuid::nil(),
            token: String::new(),
            draining: false,
            registered_at: Timestamp(0),
            heartbeat_at: Timestamp(0),
        };
        for (kind, may) in [
            (kind("emails", None), true),
            (kind("emails", Some(&["eu"])), true),
            (kind("emails", Some(&["eu", "gpu"])), false),
            (kind("videos", None), false),
            (JobKind { namespace_id: Uuid::max(), ..kind("emails", None) }, false),
        ] {
            let found = BoardReading { waiting: vec![kind], stopping: HashSet::new() };
            assert_eq!(found.has_for(&worker), may, "{found:?}");
        }
    }

    #[tokio::test]
    async fn a_worker_that_has_left_is_forgotten() {
        let board = Board::default();
        board.tells(Uuid::nil(), &[Uuid::max()]);
        assert!(board.told(Uuid::nil()).contains(&Uuid::max()));
        board.forgets(Uuid::nil()).await;
        assert!(board.locked_told().is_empty());
    }

    #[test]
    fn a_worker_that_has_died_is_forgotten_with_its_last_job_to_stop() {
        let board = Board::default();
        let [died, alive] = [Uuid::nil(), Uuid::max()];
        for worker in [died, alive] {
            board.tells(worker, &[worker]);
        }
        board.keeps_told(&HashSet::from([died, alive]));
        assert_eq!(board.locked_told().len(), 2);
        board.keeps_told(&HashSet::from([alive]));
        assert!(board.told(died).is_empty());
        assert_eq!(board.told(alive), HashSet::from([alive]));
    }

    #[test]
    fn a_second_wait_of_a_worker_ends_the_first() {
        let board = Board::default();
        let first = board.waits(Uuid::nil());
        let second = board.waits(Uuid::nil());
        assert!(first.over.is_cancelled() && !second.over.is_cancelled());
        drop(first);
        assert_eq!(board.polls().len(), 1);
        drop(second);
        assert!(board.polls().is_empty());
    }
}
