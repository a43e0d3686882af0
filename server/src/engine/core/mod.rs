//! State that the services share.
//!
//! - `nodes`: what this node knows of the other nodes and of its clock
//! - `registry`: this node's attempts, from before their start until they are settled; `starting`:
//!   attempts between the commit that assigns them to this node and their start
//! - `backfill_watch`: the runs and claims that backfills wait for
//! - `bisect`: isolates the items of a batch that the database refuses
//! - `messages`: messages from attempts to the writers
//! - `rounds`: the results of the planner's last rounds

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
    signals::SignalKind,
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

pub(super) use backfill_watch::BackfillWatch;
pub(super) use bisect::Bisect;
pub(super) use messages::{LogMessage, StepOutcome, StepRequest};
pub(super) use registry::{AttemptHandle, AttemptRegistry, Replaced, StopReason};
pub(super) use rounds::PlannerHealth;
pub(super) use starting::lost_since;

/// Passed to every service.
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
    /// The other nodes, and whether this node may schedule.
    pub(super) cluster: Cluster,
    /// Live runs of backfills: settling one wakes the backfill service.
    pub(super) backfills: BackfillWatch,
    /// The current life of this node.
    pub(super) node: RwLock<Uuid>,
    /// Capacity for runs.
    pub(super) places: Places,
    /// Whether runs wait for capacity. If so, a place that becomes free wakes the dispatcher.
    pub(super) backlog: AtomicBool,
    /// Whether runs wait for others of their group. If so, a run that settles wakes the dispatcher.
    pub(super) group_backlog: AtomicBool,
    /// Whether fires wait for a blocking run. If so, a run that settles wakes the planner.
    pub(super) buffering: AtomicBool,
    /// The results of the planner's last rounds.
    pub(super) rounds: PlannerHealth,
    /// Signalled when there are messages to send.
    pub(super) outbox: Notify,
    /// Signalled when runs may have started or settled, because watchdogs may have to be called.
    pub(super) pings: Notify,
    /// This node's attempts, from before their start until they are settled.
    pub(super) registry: AttemptRegistry,
    /// The tasks that carry out attempts.
    pub(super) attempts: TaskTracker,
    /// Ends the targets of released attempts that do not end on their own.
    pub(super) cut_off: CancellationToken,
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<StepRequest>,
    pub(super) logs: mpsc::Sender<LogMessage>,
    /// Whether the node is shutting down: runs of several tasks then start no more tasks.
    closing: AtomicBool,
    /// Set on abrupt shutdown: attempts dropped then are not reported as lost.
    gone: AtomicBool,
}

impl Core {
    pub(super) fn new(
        parts: CoreParts,
        node: Uuid,
        cluster: Cluster,
        writers: WriterChannels,
    ) -> Self {
        let CoreParts { store, clock, executor, timings, signals, settings, metrics } = parts;
        let WriterChannels { settlements, steps, logs } = writers;
        Self {
            places: cluster.places().clone(),
            definitions: Definitions::default(),
            calendars: Calendars::default(),
            cluster,
            backfills: BackfillWatch::default(),
            node: RwLock::new(node),
            backlog: AtomicBool::new(false),
            group_backlog: AtomicBool::new(false),
            buffering: AtomicBool::new(false),
            rounds: PlannerHealth::default(),
            outbox: Notify::new(),
            pings: Notify::new(),
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

    /// Compares this node's clock with the database's.
    fn comparison(&self) -> Comparison<'_> {
        let Self { cluster, clock, store, signals, .. } = self;
        Comparison { cluster, clock, store, signals }
    }

    /// Whether this node may claim, recover and remove rows. If its clock seems to have been
    /// stepped, the clock is compared with the database's first.
    pub(super) async fn may_schedule(&self) -> Result<bool, EngineError> {
        Ok(self.comparison().standing().await? == NodeReadiness::Ready)
    }

    /// Whether this node may take runs. Its zone data does not matter for this: a run's times do
    /// not depend on it.
    pub(super) async fn may_take(&self) -> Result<bool, EngineError> {
        Ok(matches!(
            self.comparison().standing().await?,
            NodeReadiness::Ready | NodeReadiness::OldZones
        ))
    }

    /// Whether the nodes schedule by zone data other than this node's. If they do, this node must
    /// not move a cursor in `tx`.
    pub(super) async fn has_other_zones(
        &self,
        tx: &DatabaseTransaction,
    ) -> Result<bool, EngineError> {
        let own = timetable::zone_data().version;
        Ok(self.store.other_zone_rules(tx, &own).await?.is_some())
    }

    /// Records what the database's clock showed after `asked`; returns whether this node's clock
    /// has thereby become right or wrong.
    pub(super) fn note_clock(&self, asked: DateTime<Utc>, database: DateTime<Utc>) -> bool {
        self.comparison().note(asked, database)
    }

    /// The time on which the nodes agree, for entries in the ledger.
    pub(super) async fn agreed_now(&self) -> DateTime<Utc> {
        self.comparison().agreed_now_in_any_case().await
    }

    /// The same in a transaction. If the query fails, the transaction cannot continue.
    pub(super) async fn agreed_now_in(
        &self,
        tx: &DatabaseTransaction,
    ) -> Result<DateTime<Utc>, EngineError> {
        Ok(self.comparison().agreed_now(tx).await?)
    }

    /// Waits until `at` in the agreed time; it may return early, so the caller must check again.
    pub(super) async fn sleep_until_agreed(&self, at: DateTime<Utc>) {
        let shown = self.comparison().shown_at(at);
        self.clock.sleep_from(self.clock.now(), shown).await;
    }

    /// Reserves a place for a run, if it may have one.
    pub(super) fn place(&self, claim: &Claim) -> Result<HeldPlace, NoPlace> {
        let place = self.places.take(claim, &self.clock);
        if let Err(NoPlace::Share(holder)) = &place {
            self.metrics.held_back(holder.kind());
        }
        place
    }

    /// Registers an attempt that begins; after `limit` it counts as stuck.
    pub(super) fn hold(&self, hold: RunLease, limit: Option<Duration>) -> AttemptHandle {
        let outlives = limit.and_then(|limit| self.clock.instant().checked_add(limit));
        self.registry.start(hold, outlives, |count| self.show_load(count))
    }

    /// Ends an attempt's work; returns why it was stopped, if it was. It still has to be settled.
    pub(super) fn let_go(&self, grip: &AttemptHandle) -> Result<Option<StopReason>, Replaced> {
        self.registry.end(grip, |count| self.show_load(count))
    }

    fn show_load(&self, attempts: usize) {
        self.metrics.live_runs(attempts);
        self.metrics.places(self.places.held(), self.places.capacity());
    }

    /// From now on the node only finishes work in progress.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether the node is shutting down.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// From now on the node reports nothing, as after a crash; a round in progress may still
    /// finish.
    pub(super) fn vanish(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    /// Whether the node has vanished.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Pauses after a failure; ends early if the store replaces the database connections.
    pub(super) async fn pause(&self, pause: Duration, renewed: Notified<'_>) {
        tokio::select! {
            biased;
            () = renewed => {}
            () = self.clock.sleep(pause) => {}
        }
    }

    /// The attempts of this node that have exceeded every time limit.
    pub(super) fn outlived(&self) -> HashSet<RunLease> {
        self.registry.outlived(self.clock.instant())
    }

    /// Called when the tables show that runs have settled: wakes the services that waited for them.
    pub(super) fn run_settled(&self) {
        self.wake_waiting();
        self.signals.tell(SignalKind::Settled);
    }

    /// The same for runs of another node. This node does not know which backfills wait for them.
    pub(super) fn run_settled_elsewhere(&self) {
        self.wake_waiting();
        if self.backfills.has_any_run() {
            self.signals.wake_here(SignalKind::Backfill);
        }
    }

    fn wake_waiting(&self) {
        if self.buffering.load(Ordering::Relaxed) {
            self.signals.wake_here(SignalKind::Planner);
        }
        if self.group_backlog.load(Ordering::Relaxed) {
            self.signals.wake_here(SignalKind::Dispatcher);
        }
    }

    /// Called when a place became free.
    pub(super) fn slot_freed(&self) {
        if self.backlog.load(Ordering::Relaxed) {
            self.signals.wake_here(SignalKind::Dispatcher);
        }
    }

    pub(super) async fn node_id(&self) -> Uuid {
        *self.node.read().await
    }
}

/// The parts that make up the engine.
#[derive(Debug)]
pub(super) struct CoreParts {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) executor: Arc<Executor>,
    pub(super) timings: Arc<timetable::Cache>,
    pub(super) signals: Signals,
    pub(super) settings: Settings,
    pub(super) metrics: Metrics,
}

/// Channels to the writers.
#[derive(Debug)]
pub(super) struct WriterChannels {
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<StepRequest>,
    pub(super) logs: mpsc::Sender<LogMessage>,
}
