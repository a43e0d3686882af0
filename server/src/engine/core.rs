//! What the services share.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, RwLock, futures::Notified, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    EngineError, Settings, Signals,
    cluster::{Cluster, Comparison, Standing},
    execution::{beginnings::Beginnings, flow, logs::LogMessage},
    places::{Claim, NoPlace, Place, Places},
    planning::{backfill::Watch, lateness::Rounds},
    signals::Kind,
};
use crate::{
    clock::Clock,
    model::{calendars::Calendars, definition::Definitions},
    random,
    store::{
        DatabaseTransaction, Store,
        holds::{Hold, Settlement},
    },
    target::Executor,
    telemetry::Metrics,
};

/// Handed to every service.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) executor: Arc<Executor>,
    pub(super) timings: Arc<timetable::Cache>,
    pub(super) signals: Signals,
    pub(super) settings: Settings,
    pub(super) metrics: Metrics,
    pub(super) definitions: Definitions,
    pub(super) calendars: Calendars,
    /// Who else is there, and whether this node may schedule.
    pub(super) cluster: Cluster,
    /// Runs of backfills that are alive: whoever settles one wakes their service.
    pub(super) backfills: Watch,
    /// The current life of this node.
    pub(super) node: RwLock<Uuid>,
    /// Room for runs.
    pub(super) places: Places,
    /// Whether runs wait for room: whoever frees some then wakes the dispatcher.
    pub(super) backlog: AtomicBool,
    /// Whether runs wait for others of their group: whoever settles one then wakes the dispatcher.
    pub(super) group_backlog: AtomicBool,
    /// Whether fires wait for runs in their way: whoever settles one then wakes the planner.
    pub(super) buffering: AtomicBool,
    /// How the planner's last rounds went.
    pub(super) rounds: Rounds,
    /// There are messages to send.
    pub(super) outbox: Notify,
    /// Tasks that carry out attempts.
    pub(super) attempts: TaskTracker,
    /// Ends the targets of released attempts that do not end by themselves.
    pub(super) cut_off: CancellationToken,
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<flow::Asked>,
    pub(super) logs: mpsc::Sender<LogMessage>,
    /// Whether the node shuts down: runs of several tasks begin no more of them.
    closing: AtomicBool,
    /// Set where the node ends as a crash would: what it forgets by that it has not lost.
    gone: AtomicBool,
    /// Attempts that are being given to this node.
    pub(super) beginnings: Beginnings,
    held: Mutex<HashMap<Uuid, Held>>,
    grips: AtomicU64,
    /// Attempts that have ended and are not settled yet.
    settling: Mutex<HashMap<Uuid, Hold>>,
}

/// An attempt that this node works on.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) hold: Hold,
    /// The [`Grip`] on it.
    serial: u64,
    pub(super) stop: CancellationToken,
    pub(super) why: Option<StopReason>,
    /// When it has outlived every limit, on the monotonic clock; none if it sees to that itself.
    outlives: Option<Instant>,
}

/// What an attempt keeps of its hold: two that were given the same one, as after a fail-over that
/// lost the first, are told apart by it.
#[derive(Debug, Clone)]
pub(super) struct Grip {
    pub(super) hold: Hold,
    pub(super) stop: CancellationToken,
    serial: u64,
}

/// The same run was given to this node again meanwhile: what came of this attempt is nobody's.
#[derive(Debug)]
pub(super) struct Replaced;

/// Why an attempt is stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// Somebody asked for it.
    Cancelled,
    /// The node shuts down: another may go on with the run.
    Released,
    /// The hold is another's: nothing may be written any more.
    Lost,
}

impl Core {
    pub(super) fn new(parts: Parts, node: Uuid, cluster: Cluster, writers: Writers) -> Self {
        let Parts { store, clock, executor, timings, signals, settings, metrics } = parts;
        let Writers { settlements, steps, logs } = writers;
        Self {
            places: cluster.places().clone(),
            definitions: Definitions::default(),
            calendars: Calendars::default(),
            cluster,
            backfills: Watch::default(),
            node: RwLock::new(node),
            backlog: AtomicBool::new(false),
            group_backlog: AtomicBool::new(false),
            buffering: AtomicBool::new(false),
            rounds: Rounds::default(),
            outbox: Notify::new(),
            attempts: TaskTracker::new(),
            cut_off: CancellationToken::new(),
            beginnings: Beginnings::default(),
            held: Mutex::default(),
            grips: AtomicU64::new(0),
            settling: Mutex::default(),
            store,
            clock,
            executor,
            timings,
            signals,
            settings,
            metrics,
            settlements,
            steps,
            logs,
            closing: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// The clock here beside the database's.
    fn comparison(&self) -> Comparison<'_> {
        let Self { cluster, clock, store, signals, .. } = self;
        Comparison { cluster, clock, store, signals }
    }

    /// Whether this node may claim, recover and remove. A clock that seems to have been stepped is
    /// compared with the database's before it is believed.
    pub(super) async fn may_schedule(&self) -> Result<bool, EngineError> {
        Ok(self.comparison().standing().await? == Standing::Ready)
    }

    /// Whether this node may take runs: their times are all nodes', whatever its zone data is.
    pub(super) async fn may_take(&self) -> Result<bool, EngineError> {
        Ok(matches!(self.comparison().standing().await?, Standing::Ready | Standing::OldZones))
    }

    /// Whether the nodes schedule by other zone data than this one's: then it moves no cursor in `tx`.
    pub(super) async fn has_other_zones(
        &self,
        tx: &DatabaseTransaction,
    ) -> Result<bool, EngineError> {
        let own = timetable::zone_data().version;
        Ok(self.store.other_zone_rules(tx, &own).await?.is_some())
    }

    /// Remembers what the database's clock showed after `asked`; says whether the clock here has
    /// become right or wrong by that.
    pub(super) fn note_clock(&self, asked: DateTime<Utc>, database: DateTime<Utc>) -> bool {
        self.comparison().note(asked, database)
    }

    /// The time as the nodes agree on it, for what goes into the ledger.
    pub(super) async fn agreed_now(&self) -> DateTime<Utc> {
        self.comparison().agreed_now_in_any_case().await
    }

    /// The same in a transaction: one that cannot ask for it cannot go on either.
    pub(super) async fn agreed_now_in(
        &self,
        tx: &DatabaseTransaction,
    ) -> Result<DateTime<Utc>, EngineError> {
        Ok(self.comparison().agreed_now(tx).await?)
    }

    /// Waits until it is `at` as the nodes agree on it, or may be: whoever waited looks again.
    pub(super) async fn sleep_until_agreed(&self, at: DateTime<Utc>) {
        let shown = self.comparison().shown_at(at);
        self.clock.sleep_from(self.clock.now(), shown).await;
    }

    /// A place for a run, if there is one that it may have.
    pub(super) fn place(&self, claim: &Claim) -> Result<Place, NoPlace> {
        let place = self.places.take(claim, &self.clock);
        if let Err(NoPlace::Share(holder)) = &place {
            self.metrics.held_back(holder.kind());
        }
        place
    }

    /// Remembers an attempt that begins, and after how long it counts as stuck.
    pub(super) fn hold(&self, hold: Hold, limit: Option<Duration>) -> Grip {
        let (stop, serial) = (CancellationToken::new(), self.grips.fetch_add(1, Ordering::Relaxed));
        let outlives = limit.and_then(|limit| self.clock.instant().checked_add(limit));
        let mut held = self.held();
        let entry = Held { hold, serial, stop: stop.clone(), why: None, outlives };
        if let Some(earlier) = held.insert(hold.run_id, entry) {
            // The node has lost that hold, and taken the run again: nobody else can stop it now.
            earlier.stop.cancel();
        }
        self.metrics.live_runs(held.len());
        self.metrics.places(self.places.held(), self.places.capacity());
        Grip { hold, stop, serial }
    }

    /// Works on an attempt no longer; says why it was stopped, if it was. It is to be settled.
    pub(super) fn let_go(&self, grip: &Grip) -> Result<Option<StopReason>, Replaced> {
        let mut held = self.held();
        let Entry::Occupied(entry) = held.entry(grip.hold.run_id) else { return Err(Replaced) };
        if entry.get().serial != grip.serial {
            return Err(Replaced);
        }
        lock(&self.settling).insert(grip.hold.run_id, grip.hold);
        let why = entry.remove().why;
        self.metrics.live_runs(held.len());
        self.metrics.places(self.places.held(), self.places.capacity());
        Ok(why)
    }

    /// Why an attempt that this node works on is to stop, if it is; `Lost` for one that it does
    /// not work on.
    pub(super) fn why(&self, grip: &Grip) -> Option<StopReason> {
        let held = self.held();
        match held.get(&grip.hold.run_id).filter(|now| now.serial == grip.serial) {
            Some(entry) => entry.why,
            None => Some(StopReason::Lost),
        }
    }

    /// From now on only what is at work is brought to its end.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether the node shuts down.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Nothing is said any more, as after a crash: a round that is under way may come to its end.
    pub(super) fn vanish(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    /// Whether the node has ended so.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Forgets an attempt that is settled, or never will be.
    pub(super) fn forget(&self, hold: &Hold) {
        let mut settling = lock(&self.settling);
        if settling.get(&hold.run_id) == Some(hold) {
            settling.remove(&hold.run_id);
        }
    }

    /// Whether this node works on an attempt, or is about to begin or to settle it.
    pub(super) fn knows(&self, hold: &Hold) -> bool {
        // In this order: an attempt that goes from one to the next is in both for a moment, never
        // in none.
        self.beginnings.has(hold)
            || self.held().get(&hold.run_id).is_some_and(|entry| entry.hold == *hold)
            || lock(&self.settling).get(&hold.run_id) == Some(hold)
    }

    /// Waits after a failure, but not after the connections to the database were replaced.
    pub(super) async fn pause(&self, pause: Duration, renewed: Notified<'_>) {
        tokio::select! {
            biased;
            () = renewed => {}
            () = self.clock.sleep(pause) => {}
        }
    }

    /// Stops the attempts that `which` selects.
    pub(super) fn stop_held(&self, why: StopReason, which: impl Fn(&Hold) -> bool) -> usize {
        let mut held = self.held();
        let mut stopped = 0;
        for entry in held.values_mut().filter(|entry| which(&entry.hold)) {
            entry.why.get_or_insert(why);
            entry.stop.cancel();
            stopped += 1;
        }
        stopped
    }

    /// The attempts of this node that have outlived every limit and are still its own.
    pub(super) fn outlived(&self) -> HashSet<Hold> {
        let now = self.clock.instant();
        let has_outlived = |entry: &&Held| {
            entry.why != Some(StopReason::Lost) && entry.outlives.is_some_and(|at| now >= at)
        };
        self.held().values().filter(has_outlived).map(|entry| entry.hold).collect()
    }

    /// How many attempts this node works on.
    pub(super) fn held_count(&self) -> usize {
        self.held().len()
    }

    /// What this node works on, as far as it knows.
    pub(super) fn holds(&self) -> Vec<Hold> {
        self.held().values().map(|held| held.hold).collect()
    }

    /// Runs have settled, and the tables say so: what waited for them has its turn.
    pub(super) fn run_settled(&self) {
        self.wake_waiting();
        self.signals.tell(Kind::Settled);
    }

    /// The same on another node. What a backfill waits for there is not known here.
    pub(super) fn run_settled_elsewhere(&self) {
        self.wake_waiting();
        if self.backfills.has_any_run() {
            self.signals.wake_here(Kind::Backfill);
        }
    }

    fn wake_waiting(&self) {
        if self.buffering.load(Ordering::Relaxed) {
            self.signals.wake_here(Kind::Planner);
        }
        if self.group_backlog.load(Ordering::Relaxed) {
            self.signals.wake_here(Kind::Dispatcher);
        }
    }

    /// A place became free.
    pub(super) fn slot_freed(&self) {
        if self.backlog.load(Ordering::Relaxed) {
            self.signals.wake_here(Kind::Dispatcher);
        }
    }

    pub(super) async fn node_id(&self) -> Uuid {
        *self.node.read().await
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Uuid, Held>> {
        lock(&self.held)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the engine is made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) executor: Arc<Executor>,
    pub(super) timings: Arc<timetable::Cache>,
    pub(super) signals: Signals,
    pub(super) settings: Settings,
    pub(super) metrics: Metrics,
}

/// Where to send what is to be written.
#[derive(Debug)]
pub(super) struct Writers {
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<flow::Asked>,
    pub(super) logs: mpsc::Sender<LogMessage>,
}

/// A key whose time is the application's: the order of keys is the order of creation on any clock.
pub(crate) fn new_id(now: DateTime<Utc>) -> Uuid {
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random::bytes()).into_uuid()
}
