//! Starts the engine, reports its status, and shuts it down.

use std::{sync::Arc, time::Duration};

use tokio::sync::{mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    BackfillReport, DispatcherReport, EngineError, EngineSettings, PlannerReport, PulseReport,
    RecoveryReport, Signals,
    alerting::{
        alerts::{AlertRecorder, NotificationSender},
        pings::{Pings, wake_on_changes},
    },
    cluster::{
        Cluster, clock_watch,
        live_range::LiveRangeRefresher,
        membership::{self, Canceller, Pulse},
        relay,
    },
    core::{Core, CoreParts, LogMessage, StepRequest, StopReason, WriterChannels},
    execution::{dispatcher::Dispatcher, flow, logs, recovery::Recovery, settler},
    jobs::Desk,
    maintenance::{
        HistoryQuotas, HistoryQuotasReport, Refresh,
        retention::{Keeper, RetentionReport},
        stats::{Stats, StatsReport},
    },
    planning::{
        backfill::BackfillRunner,
        planner::Planner,
        windows::Windows,
        zones::{self, Zones},
    },
    starter::{Starter, Wake},
};
use crate::{
    clock::Clock,
    config::NodeRole,
    store::{Store, holds::Settlement},
    target::Executor,
    telemetry::Instruments,
};

/// A running engine. It runs until [`Engine::shutdown`] is called.
#[derive(Debug)]
pub struct Engine {
    core: Arc<Core>,
    /// Stops the claiming of fires and the taking of runs.
    stop: CancellationToken,
    /// Stops the heartbeat. Cancelled after the last attempt has ended.
    stop_pulse: CancellationToken,
    /// Stops the calls to the other nodes. Cancelled after the last call.
    stop_relay: CancellationToken,
    /// Stops the settler and the log writer. Cancelled after everything else.
    stop_writers: CancellationToken,
    /// Stops the settler even if it has not settled all attempts.
    give_up: CancellationToken,
    services: TaskTracker,
    pulse: TaskTracker,
    relay: TaskTracker,
    writers: TaskTracker,
    planner: watch::Receiver<(u64, PlannerReport)>,
    dispatcher: watch::Receiver<(u64, DispatcherReport)>,
    recovery: watch::Receiver<(u64, RecoveryReport)>,
    backfill: watch::Receiver<(u64, BackfillReport)>,
    retention: Option<watch::Receiver<(u64, RetentionReport)>>,
    stats: watch::Receiver<(u64, StatsReport)>,
    history_quotas: watch::Receiver<(u64, HistoryQuotasReport)>,
    heartbeat: watch::Receiver<(u64, PulseReport)>,
}

/// The status of an engine.
#[derive(Clone, Debug)]
pub struct Status {
    /// The key of the node's current life.
    pub node_id: Uuid,
    /// Whether the engine claims fires and takes runs.
    pub is_running: bool,
    /// Number of attempts in progress.
    pub attempts: usize,
    /// Maximum number of concurrent attempts.
    pub capacity: usize,
    /// Number of the planner's rounds, and the report of the last one.
    pub planner: (u64, PlannerReport),
    /// Number of the dispatcher's rounds, and the report of the last one.
    pub dispatcher: (u64, DispatcherReport),
    /// Number of recovery's rounds, and the report of the last one.
    pub recovery: (u64, RecoveryReport),
    /// Number of the backfill service's rounds, and the report of the last one.
    pub backfill: (u64, BackfillReport),
    /// Number of heartbeats, and the report of the last one.
    pub pulse: (u64, PulseReport),
}

/// Capacity of the queues to the settler and to the writers.
const QUEUE: usize = 4096;

/// Time limit for the services' last rounds and for the notice to the other nodes.
const LAST_ROUNDS: Duration = Duration::from_secs(2);

/// Deadlines of the steps of a shutdown, counted from the end of the grace period.
/// First, released attempts end on their own. Then the remaining ones are aborted.
/// Finally their results are written, and the node leaves.
const RELEASED: Duration = Duration::from_secs(2);
const CUT_OFF: Duration = Duration::from_millis(2_750);
const WRITTEN: Duration = Duration::from_millis(3_750);
const LEFT: Duration = Duration::from_millis(4_250);

impl Engine {
    /// Joins the cluster and starts all services.
    pub async fn start(
        settings: EngineSettings,
        store: Store,
        clock: Clock,
        executor: Arc<Executor>,
        timings: Arc<timetable::Cache>,
        signals: Signals,
        metrics: Instruments,
    ) -> Result<Self, EngineError> {
        let parts = CoreParts { store, clock, executor, timings, signals, settings, metrics };
        let JoinedNode { core, to_settle, to_step, to_write } = join(parts).await?;

        let stop = CancellationToken::new();
        let stop_pulse = CancellationToken::new();
        let stop_writers = CancellationToken::new();
        let (services, pulse) = (TaskTracker::new(), TaskTracker::new());
        let give_up = CancellationToken::new();
        let queues = WriterQueues { to_settle, to_step, to_write };
        let writers = start_writers(&core, queues, &stop_writers, &give_up);

        services.spawn(clock_watch::run(core.clone(), stop.clone()));
        let start = Starter { core: &core, stop: &stop, tracker: &services };
        let roles = core.settings.roles;
        let (schedules, works) = (roles.has(NodeRole::Scheduler), roles.has(NodeRole::Worker));
        let planner = start.service_if(schedules, Planner::new(core.clone()), Wake::Planner);
        let dispatcher = start.service_if(works, Dispatcher::new(core.clone()), Wake::Dispatcher);
        let recovery = start.service(Recovery::new(core.clone()), Wake::Never);
        start.service_if(schedules || works, Refresh::new(core.clone()), Wake::Never);
        if core.store.dialect().is_postgres() {
            start.service(LiveRangeRefresher::new(core.clone()), Wake::Never);
        }
        let backfill = BackfillRunner { core: core.clone() };
        let backfill = start.service_if(schedules, backfill, Wake::Backfill);
        start.service_if(schedules, Windows::new(core.clone()), Wake::Windows);
        start.service_if(schedules, Zones { core: core.clone() }, Wake::Never);
        start.service_if(schedules, AlertRecorder::new(core.clone()), Wake::Never);
        start.service_if(
            schedules,
            NotificationSender::new(core.clone()),
            Wake::NotificationSender,
        );
        start.service_if(schedules, Pings::new(core.clone()), Wake::Pings);
        if schedules {
            services.spawn(wake_on_changes(core.clone(), stop.clone()));
        }
        let retention = core.settings.retention.filter(|_| schedules);
        let retention = retention
            .map(|settings| start.service(Keeper::new(core.clone(), settings), Wake::Never));
        let stats = start.service_if(schedules, Stats::new(core.clone()), Wake::Never);
        let history_quotas = HistoryQuotas::new(core.clone());
        let history_quotas = start.service_if(schedules, history_quotas, Wake::Never);
        let start = Starter { core: &core, stop: &stop_pulse, tracker: &pulse };
        let (relay, stop_relay) = (TaskTracker::new(), CancellationToken::new());
        relay.spawn(relay::run(core.clone(), stop_relay.clone()));
        start.service(Canceller { core: core.clone() }, Wake::Canceller);
        let heartbeat = start.service(Pulse::new(core.clone()), Wake::Pulse);
        Ok(Self {
            core,
            stop,
            stop_pulse,
            stop_relay,
            stop_writers,
            give_up,
            services,
            pulse,
            relay,
            writers,
            planner,
            dispatcher,
            recovery,
            backfill,
            retention,
            stats,
            history_quotas,
            heartbeat,
        })
    }

    /// The node's knowledge of the other nodes and of itself.
    pub fn cluster(&self) -> Cluster {
        self.core.cluster.clone()
    }

    /// The engine's status.
    pub async fn status(&self) -> Status {
        Status {
            node_id: self.core.node_id().await,
            is_running: !self.stop.is_cancelled(),
            attempts: self.core.registry.count(),
            capacity: self.core.settings.capacity,
            planner: *self.planner.borrow(),
            dispatcher: *self.dispatcher.borrow(),
            recovery: *self.recovery.borrow(),
            backfill: *self.backfill.borrow(),
            pulse: *self.heartbeat.borrow(),
        }
    }

    /// Receives, after each planner round, the number of rounds and the report of the last one.
    pub fn planner_reports(&self) -> watch::Receiver<(u64, PlannerReport)> {
        self.planner.clone()
    }

    /// Receives the report of each recovery round.
    pub fn recovery_reports(&self) -> watch::Receiver<(u64, RecoveryReport)> {
        self.recovery.clone()
    }

    /// Receives the report of each heartbeat.
    pub fn pulse_reports(&self) -> watch::Receiver<(u64, PulseReport)> {
        self.heartbeat.clone()
    }

    /// Receives the report of each retention round; `None` if retention is off.
    pub fn retention_reports(&self) -> Option<watch::Receiver<(u64, RetentionReport)>> {
        self.retention.clone()
    }

    /// Receives the report of each round of the statistics service.
    pub fn stats_reports(&self) -> watch::Receiver<(u64, StatsReport)> {
        self.stats.clone()
    }

    /// Receives the report of each round that compares histories with their quotas.
    pub fn history_quotas_reports(&self) -> watch::Receiver<(u64, HistoryQuotasReport)> {
        self.history_quotas.clone()
    }

    /// Stops the claiming of fires and the taking of runs, lets attempts finish within `grace`,
    /// releases the rest to other nodes, and leaves.
    /// This ends at most 4.25 s after the grace period, whatever the database and the targets do.
    /// Recovery handles attempts that have not ended by then or cannot be written.
    pub async fn shutdown(self, grace: Duration) -> Result<(), EngineError> {
        let core = &self.core;
        let clock = &core.clock;
        let after_grace = |span| clock.deadline(grace.saturating_add(span));
        let [grace_ends, released, cut_off, written, left] =
            [Duration::ZERO, RELEASED, CUT_OFF, WRITTEN, LEFT].map(after_grace);
        core.cluster.begin_draining();
        self.stop.cancel();
        self.services.close();
        // The other nodes are told now, so that they need
        // not wait for the last attempt on this node.
        let drained = async {
            if let Err(error) = core.store.drain(core.node_id().await).await {
                tracing::warn!(%error, "failed to record that this node shuts down");
            }
            core.signals.wake_pulse();
        };
        let last_rounds = async { tokio::join!(self.services.wait(), drained) };
        if clock.timeout(LAST_ROUNDS, last_rounds).await.is_err() {
            tracing::warn!("the last rounds of the services did not end in time");
        }
        core.close();
        core.attempts.close();
        if grace_ends.limit(core.attempts.wait()).await.is_err() {
            let stopped = core.registry.stop(StopReason::Released, |_| true);
            tracing::warn!(released = stopped, "attempts did not end in time; they are released");
            if released.limit(core.attempts.wait()).await.is_err() {
                core.cut_off.cancel();
            }
            if cut_off.limit(core.attempts.wait()).await.is_err() {
                let left = core.registry.count();
                tracing::error!(left, "released attempts did not end; recovery will handle them");
            }
        }
        self.stop_writers.cancel();
        self.writers.close();
        if written.limit(self.writers.wait()).await.is_err() {
            tracing::error!(
                "the results of the last attempts cannot be written; recovery will handle them"
            );
            self.give_up.cancel();
        }
        self.stop_pulse.cancel();
        self.pulse.close();
        let leaving = async {
            self.pulse.wait().await;
            let node = core.node_id().await;
            let has_left = core.store.leave(node).await;
            core.cluster.forget(node).await;
            core.signals.wake_pulse();
            self.stop_relay.cancel();
            self.relay.close();
            self.relay.wait().await;
            has_left
        };
        // An error here does not fail the shutdown:
        // the other nodes notice when the heartbeat expires.
        match left.limit(leaving).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "failed to record that this node has left");
            }
            Err(_) => tracing::warn!("failed to record in time that this node has left"),
        }
        self.stop_relay.cancel();
        Ok(())
    }

    /// Ends at once, as a crash would, without settling or releasing attempts. For tests.
    pub fn abandon(self) {
        self.core.vanish();
        self.stop.cancel();
        self.stop_pulse.cancel();
        self.stop_relay.cancel();
        self.give_up.cancel();
        self.core.registry.stop(StopReason::Lost, |_| true);
    }
}

/// What the tasks that write for others receive.
struct WriterQueues {
    to_settle: mpsc::Receiver<Settlement>,
    to_step: mpsc::Receiver<StepRequest>,
    to_write: mpsc::Receiver<LogMessage>,
}

/// Starts the tasks that write for others. After `stop` they write what is left, unless `give_up`
/// ends them.
fn start_writers(
    core: &Arc<Core>,
    queues: WriterQueues,
    stop: &CancellationToken,
    give_up: &CancellationToken,
) -> TaskTracker {
    let WriterQueues { to_settle, to_step, to_write } = queues;
    let writers = TaskTracker::new();
    let settler = settler::run(core.clone(), to_settle, stop.clone());
    writers.spawn(give_up.clone().run_until_cancelled_owned(settler));
    let steps = flow::write(core.clone(), to_step, stop.clone());
    writers.spawn(give_up.clone().run_until_cancelled_owned(steps));
    let (store, clock) = (core.store.clone(), core.clock.clone());
    let logs = logs::write(store, clock, to_write, stop.clone());
    writers.spawn(give_up.clone().run_until_cancelled_owned(logs));
    writers
}

/// A node that has joined the cluster. None of its services is running yet.
pub(super) struct JoinedNode {
    pub(super) core: Arc<Core>,
    /// The settlements that attempts request.
    pub(super) to_settle: mpsc::Receiver<Settlement>,
    /// The steps that runs of several tasks request.
    pub(super) to_step: mpsc::Receiver<StepRequest>,
    /// The log lines that attempts print.
    pub(super) to_write: mpsc::Receiver<LogMessage>,
}

pub(super) async fn join(parts: CoreParts) -> Result<JoinedNode, EngineError> {
    let settings = &parts.settings;
    let cluster = Cluster::new(settings.clone(), parts.executor.clone());
    let node = membership::enter(&parts.store, &parts.clock, settings, &cluster).await?;
    zones::enter(&parts.store, &parts.clock, &cluster).await?;
    tracing::info!(
        %node,
        name = settings.node_name,
        roles = %settings.roles,
        "the node has joined"
    );
    let desk = Desk::new(parts.store.clone(), parts.clock.clone());
    parts.executor.hand_jobs_by(Arc::new(desk));
    let (settlements, to_settle) = mpsc::channel(QUEUE);
    let (steps, to_step) = mpsc::channel(QUEUE);
    let (logs, to_write) = mpsc::channel(logs::MAX_QUEUE);
    let core =
        Arc::new(Core::new(parts, node, cluster, WriterChannels { settlements, steps, logs }));
    Ok(JoinedNode { core, to_settle, to_step, to_write })
}
