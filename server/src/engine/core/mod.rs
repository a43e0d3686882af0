//! What the services share.
//!
//! - `nodes`: what this node knows of the others and of its clock
//! - `registry`: the attempts of this node, from before their start until they are settled;
//!   `starting`: those between the commit that gives them to this node and their start
//! - `backfill_watch`: what backfills wait for
//! - `bisect`: separates from a batch what the database refuses
//! - `messages`: what those who carry out attempts send to those who write
//! - `rounds`: how the planner's last rounds went

mod backfill_watch;
mod bisect;
mod messages;
pub(crate) mod nodes;
mod registry;
mod rounds;
mod starting;

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, RwLock, futures::Notified, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use self::nodes::{Cluster, Comparison, NodeReadiness};
use super::{
    EngineError, Settings, Signals,
    places::{Claim, HeldPlace, NoPlace, Places},
    signals::Kind,
};
use crate::{
    clock::Clock,
    model::{calendars::Calendars, definition::Definitions},
    store::{
        DatabaseTransaction, Store,
        holds::{RunLease, Settlement},
    },
    target::Executor,
    telemetry::Metrics,
};

pub(super) use backfill_watch::Watch;
pub(super) use bisect::Bisect;
pub(super) use messages::{Asked, LogMessage, Written};
pub(super) use registry::{AttemptHandle, AttemptRegistry, Replaced, StopReason};
pub(super) use rounds::Rounds;
pub(super) use starting::lost_since;

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
    /// The attempts of this node, from before their start until they are settled.
    pub(super) registry: AttemptRegistry,
    /// Tasks that carry out attempts.
    pub(super) attempts: TaskTracker,
    /// Ends the targets of released attempts that do not end by themselves.
    pub(super) cut_off: CancellationToken,
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<Asked>,
    pub(super) logs: mpsc::Sender<LogMessage>,
    /// Whether the node shuts down: runs of several tasks begin no more of them.
    closing: AtomicBool,
    /// Set where the node ends as a crash would: what it forgets by that it has not lost.
    gone: AtomicBool,
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
            registry: AttemptRegistry::default(),
            attempts: TaskTracker::new(),
            cut_off: CancellationToken::new(),
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
        Ok(self.comparison().standing().await? == NodeReadiness::Ready)
    }

    /// Whether this node may take runs: their times are all nodes', whatever its zone data is.
    pub(super) async fn may_take(&self) -> Result<bool, EngineError> {
        Ok(matches!(
            self.comparison().standing().await?,
            NodeReadiness::Ready | NodeReadiness::OldZones
        ))
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
    pub(super) fn place(&self, claim: &Claim) -> Result<HeldPlace, NoPlace> {
        let place = self.places.take(claim, &self.clock);
        if let Err(NoPlace::Share(holder)) = &place {
            self.metrics.held_back(holder.kind());
        }
        place
    }

    /// Remembers an attempt that begins, and after how long it counts as stuck.
    pub(super) fn hold(&self, hold: RunLease, limit: Option<Duration>) -> AttemptHandle {
        let outlives = limit.and_then(|limit| self.clock.instant().checked_add(limit));
        self.registry.start(hold, outlives, |count| self.show_load(count))
    }

    /// Works on an attempt no longer; says why it was stopped, if it was. It is to be settled.
    pub(super) fn let_go(&self, grip: &AttemptHandle) -> Result<Option<StopReason>, Replaced> {
        self.registry.end(grip, |count| self.show_load(count))
    }

    fn show_load(&self, attempts: usize) {
        self.metrics.live_runs(attempts);
        self.metrics.places(self.places.held(), self.places.capacity());
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

    /// Waits after a failure, but not after the connections to the database were replaced.
    pub(super) async fn pause(&self, pause: Duration, renewed: Notified<'_>) {
        tokio::select! {
            biased;
            () = renewed => {}
            () = self.clock.sleep(pause) => {}
        }
    }

    /// The attempts of this node that have outlived every limit and are still its own.
    pub(super) fn outlived(&self) -> HashSet<RunLease> {
        self.registry.outlived(self.clock.instant())
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
    pub(super) steps: mpsc::Sender<Asked>,
    pub(super) logs: mpsc::Sender<LogMessage>,
}
