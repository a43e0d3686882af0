//! State that all services of the engine share.
//!
//! - `nodes`: this node's knowledge of the other nodes and of its clock
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
    EngineError, EngineSettings, Signals,
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
    telemetry::Instruments,
};

pub(super) use backfill_watch::BackfillWatch;
pub(super) use bisect::Bisect;
pub(super) use messages::{LogMessage, StepOutcome, StepRequest};
pub(super) use registry::{AttemptHandle, AttemptRegistry, AttemptReplaced, StopReason};
pub(super) use rounds::PlannerHealth;
pub(super) use starting::lost_since;

/// The state that is passed to every service.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) executor: Arc<Executor>,
    pub(super) timings: Arc<timetable::Cache>,
    pub(super) signals: Signals,
    pub(super) settings: EngineSettings,
    pub(super) metrics: Instruments,
    pub(super) definitions: Definitions,
    pub(super) calendars: Arc<Calendars>,
    /// The other nodes, and whether this node may schedule.
    pub(super) cluster: Cluster,
    /// The live runs of backfills. When one settles, the backfill service wakes.
    pub(super) backfills: BackfillWatch,
    /// The key of this node's current life.
    pub(super) node: RwLock<Uuid>,
    /// The node's places for runs.
    pub(super) places: Places,
    /// Whether runs wait for a place. If so, a place that becomes free wakes the dispatcher.
    pub(super) backlog: AtomicBool,
    /// Whether runs wait for other runs of their group.
    /// If so, a run that settles wakes the dispatcher.
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
    /// Aborts the targets of released attempts that do not end on their own.
    pub(super) cut_off: CancellationToken,
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<StepRequest>,
    pub(super) logs: mpsc::Sender<LogMessage>,
    /// Whether the node is shutting down: runs of several tasks then start no further tasks.
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
            calendars: Arc::default(),
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

    /// The parts needed to compare this node's clock with the database's.
    fn comparison(&self) -> Comparison<'_> {
        let Self { cluster, clock, store, signals, .. } = self;
        Comparison { cluster, clock, store, signals }
    }

    /// Whether this node may claim, recover and remove rows.
    /// If its clock seems to have been stepped, the clock is first compared with the database's.
    pub(super) async fn may_schedule(&self) -> Result<bool, EngineError> {
        Ok(self.comparison().standing().await? == NodeReadiness::Ready)
    }

    /// Whether this node may take runs.
    /// Its zone data does not matter, because a run's times do not depend on it.
    pub(super) async fn may_take(&self) -> Result<bool, EngineError> {
        Ok(matches!(
            self.comparison().standing().await?,
            NodeReadiness::Ready | NodeReadiness::OldZones
        ))
    }

    /// Whether the nodes schedule by other zone data than this node has.
    /// If so, this node must not move a schedule's cursor in `tx`.
    pub(super) async fn has_other_zones(
        &self,
        tx: &DatabaseTransaction,
    ) -> Result<bool, EngineError> {
        let own = timetable::zone_data().version;
        Ok(self.store.other_zone_rules(tx, &own).await?.is_some())
    }

    /// Records the time that the database's clock showed after `asked`.
    /// Returns whether this shows that this node's clock has become right or wrong.
    pub(super) fn note_clock(&self, asked: DateTime<Utc>, database: DateTime<Utc>) -> bool {
        self.comparison().note(asked, database)
    }

    /// The agreed time of the nodes, for entries in the ledger.
    pub(super) async fn agreed_now(&self) -> DateTime<Utc> {
        self.comparison().agreed_now_in_any_case().await
    }

    /// The agreed time, read in a transaction. If the query fails, the transaction cannot continue.
    pub(super) async fn agreed_now_in(
        &self,
        tx: &DatabaseTransaction,
    ) -> Result<DateTime<Utc>, EngineError> {
        Ok(self.comparison().agreed_now(tx).await?)
    }

    /// Waits until the agreed time is `at`. It may return early, so the caller must check again.
    pub(super) async fn sleep_until_agreed(&self, at: DateTime<Utc>) {
        let shown = self.comparison().shown_at(at);
        self.clock.sleep_from(self.clock.now(), shown).await;
    }

    /// Reserves a place for a run, if the run may have one.
    pub(super) fn place(&self, claim: &Claim) -> Result<HeldPlace, NoPlace> {
        let place = self.places.take(claim, &self.clock);
        if let Err(NoPlace::Share(holder)) = &place {
            self.metrics.held_back(holder.kind());
        }
        place
    }

    /// Registers an attempt that begins. After `limit` it counts as stuck.
    pub(super) fn hold(&self, hold: RunLease, limit: Option<Duration>) -> AttemptHandle {
        let outlives = limit.and_then(|limit| self.clock.instant().checked_add(limit));
        self.registry.start(hold, outlives, |count| self.show_load(count))
    }

    /// Records that an attempt's work has ended; it still has to be settled.
    /// Returns why the attempt was stopped, if it was.
    pub(super) fn let_go(
        &self,
        grip: &AttemptHandle,
    ) -> Result<Option<StopReason>, AttemptReplaced> {
        self.registry.end(grip, |count| self.show_load(count))
    }

    fn show_load(&self, attempts: usize) {
        self.metrics.live_runs(attempts);
        self.metrics.places(self.places.held(), self.places.capacity());
    }

    /// Marks the node as closing: it only finishes work in progress.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether the node is shutting down.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Makes the node report nothing more, as after a crash. A round in progress may still finish.
    pub(super) fn vanish(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    /// Whether the node has vanished.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Pauses after a failure. The pause ends early if the store replaces the database connections.
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

    /// Wakes the services that waited for runs, once the tables show that those runs have settled.
    pub(super) fn run_settled(&self) {
        self.wake_waiting();
        self.signals.tell(SignalKind::Settled);
    }

    /// Wakes the services that waited for runs of another node.
    /// This node does not know which of these runs backfills wait for.
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

    /// Wakes the dispatcher if runs wait for the place that became free.
    pub(super) fn slot_freed(&self) {
        if self.backlog.load(Ordering::Relaxed) {
            self.signals.wake_here(SignalKind::Dispatcher);
        }
    }

    pub(super) async fn node_id(&self) -> Uuid {
        *self.node.read().await
    }
}

/// The parts from which the engine's shared state is built.
#[derive(Debug)]
pub(super) struct CoreParts {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) executor: Arc<Executor>,
    pub(super) timings: Arc<timetable::Cache>,
    pub(super) signals: Signals,
    pub(super) settings: EngineSettings,
    pub(super) metrics: Instruments,
}

/// The channels to the tasks that write.
#[derive(Debug)]
pub(super) struct WriterChannels {
    pub(super) settlements: mpsc::Sender<Settlement>,
    pub(super) steps: mpsc::Sender<StepRequest>,
    pub(super) logs: mpsc::Sender<LogMessage>,
}
