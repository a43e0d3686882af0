//! Runs the engine step by step, for a simulation that chooses which service
//! of which node runs next and where it stops.
//!
//! The services are those that [`super::Engine`] starts, with the same shared state;
//! only their loops are missing. The simulation can suspend a round in the middle,
//! on the clock or at an edge of the store, while other rounds proceed.
//! To simulate a crash, it drops such a round and calls [`Stepwise::abandon`].

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::{FutureExt, future::BoxFuture};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    EngineError, EngineSettings, Signals,
    alerting::{
        alerts::{AlertRecorder, NotificationSender},
        pings::Pings,
    },
    cluster::{
        Cluster,
        live_range::LiveRangeRefresher,
        membership::{Canceller, Pulse},
    },
    core::{Core, CoreParts, LogMessage, StopReason},
    execution::{dispatcher::Dispatcher, flow, recovery::Recovery, settler},
    maintenance::{HistoryQuotas, Refresh, retention::Keeper, stats::Stats},
    planning::{backfill::BackfillRunner, planner::Planner, windows::Windows, zones::Zones},
    service::{Service, caught},
    services::{JoinedNode, join},
};
use crate::{
    clock::Clock,
    store::{Store, holds::Settlement},
    target::Executor,
    telemetry::Instruments,
};

/// The state that a node's services share.
#[derive(Debug)]
pub struct Stepwise {
    core: Arc<Core>,
    /// No task writes log lines here, but attempts must be able to report that they have none.
    _to_write: mpsc::Receiver<LogMessage>,
}

impl Stepwise {
    /// Joins the cluster. Returns the services, which the caller must drive.
    pub async fn join(
        settings: EngineSettings,
        store: Store,
        clock: Clock,
        executor: Arc<Executor>,
        timings: Arc<timetable::Cache>,
        signals: Signals,
        metrics: Instruments,
    ) -> Result<(Self, Vec<StepwiseService>), EngineError> {
        let parts = CoreParts { store, clock, executor, timings, signals, settings, metrics };
        let JoinedNode { core, to_settle, to_step, to_write } = join(parts).await?;
        let mut steps = vec![
            StepwiseService::of(Planner::new(core.clone())),
            StepwiseService::of(Dispatcher::new(core.clone())),
            StepwiseService::of(Settling { core: core.clone(), to_settle }),
            StepwiseService::of(Stepping { core: core.clone(), to_step }),
            StepwiseService::of(Pulse::new(core.clone())),
            StepwiseService::of(Recovery::new(core.clone())),
            StepwiseService::of(Canceller { core: core.clone() }),
            StepwiseService::of(BackfillRunner { core: core.clone() }),
            StepwiseService::of(Stats::new(core.clone())),
            StepwiseService::of(Windows::new(core.clone())),
            StepwiseService::of(Zones { core: core.clone() }),
            StepwiseService::of(Refresh::new(core.clone())),
            StepwiseService::of(HistoryQuotas::new(core.clone())),
        ];
        if core.store.dialect().is_postgres() {
            steps.push(StepwiseService::of(LiveRangeRefresher::new(core.clone())));
        }
        if let Some(settings) = core.settings.retention {
            steps.push(StepwiseService::of(Keeper::new(core.clone(), settings)));
        }
        Ok((Self { core, _to_write: to_write }, steps))
    }

    /// The services that send alerts, which the caller must drive. No other service waits for them.
    pub fn alerting(&self) -> [StepwiseService; 2] {
        [
            StepwiseService::of(AlertRecorder::new(self.core.clone())),
            StepwiseService::of(NotificationSender::new(self.core.clone())),
        ]
    }

    /// The service that pings watchdogs, which the caller must drive.
    pub fn pings(&self) -> StepwiseService {
        StepwiseService::of(Pings::new(self.core.clone()))
    }

    /// The key of the node's current life.
    pub async fn node_id(&self) -> Uuid {
        self.core.node_id().await
    }

    /// The node's knowledge of the other nodes and of its own clock.
    pub fn cluster(&self) -> Cluster {
        self.core.cluster.clone()
    }

    /// Number of attempts that have not ended.
    pub fn attempts(&self) -> usize {
        self.core.attempts.len()
    }

    /// The names of the services that a signal has woken since the last call.
    pub fn woken(&self) -> Vec<&'static str> {
        let signals = &self.core.signals;
        [
            (Planner::NAME, signals.planner()),
            (Dispatcher::NAME, signals.dispatcher()),
            (Canceller::NAME, signals.canceller()),
            (BackfillRunner::NAME, signals.backfill()),
            (Windows::NAME, signals.windows()),
            (Pulse::NAME, signals.pulse()),
        ]
        .into_iter()
        .filter(|(_, signal)| signal.notified().now_or_never().is_some())
        .map(|(name, _)| name)
        .collect()
    }

    /// Stops the attempts as a crash would, without settling or releasing them.
    pub fn abandon(&self) {
        self.core.registry.stop(StopReason::Lost, |_| true);
    }

    /// Stops the attempts as a shutdown does, so that other nodes can continue them.
    /// The settlements that they request must still be written before [`Stepwise::leave`].
    pub fn release(&self) {
        self.core.registry.stop(StopReason::Released, |_| true);
    }

    /// Ends the node's life in good order.
    pub async fn leave(&self) -> Result<(), EngineError> {
        Ok(self.core.store.leave(self.core.node_id().await).await?)
    }
}

/// One of the node's services.
pub struct StepwiseService {
    name: &'static str,
    rounds: Box<dyn SteppedRounds>,
}

impl StepwiseService {
    fn of<S: Service + 'static>(service: S) -> Self {
        Self { name: S::NAME, rounds: Box::new(service) }
    }

    /// The service's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Does all the work that is due at `now`. Returns the report if it is notable.
    pub async fn once(&mut self, now: DateTime<Utc>) -> Result<Option<String>, EngineError> {
        self.rounds.once(now).await
    }

    /// When the next round is due.
    pub fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.rounds.next(now)
    }
}

/// A service of which only the printed report is needed.
trait SteppedRounds: Send {
    fn once(&mut self, now: DateTime<Utc>) -> BoxFuture<'_, Result<Option<String>, EngineError>>;
    fn next(&mut self, now: DateTime<Utc>) -> DateTime<Utc>;
}

impl<S: Service> SteppedRounds for S {
    fn once(&mut self, now: DateTime<Utc>) -> BoxFuture<'_, Result<Option<String>, EngineError>> {
        Box::pin(async move {
            let report = caught(self.run_once(now)).await?;
            Ok(S::is_notable(&report).then(|| format!("{report:?}")))
        })
    }

    fn next(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.next_round(now)
    }
}

/// The settler. A round settles all attempts that have arrived.
struct Settling {
    core: Arc<Core>,
    to_settle: mpsc::Receiver<Settlement>,
}

/// Number of attempts that a round settled.
#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    attempts: usize,
}

impl Service for Settling {
    type Report = Settled;
    const NAME: &'static str = "settler";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<Settled, EngineError> {
        let attempts = settler::settle_waiting(&self.core, &mut self.to_settle).await;
        Ok(Settled { attempts })
    }

    /// The next round is due at once, because settlements may have arrived.
    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now
    }

    fn is_notable(report: &Settled) -> bool {
        report.attempts > 0
    }
}

/// The writer of flow steps. A round writes all steps that have arrived.
struct Stepping {
    core: Arc<Core>,
    to_step: mpsc::Receiver<crate::engine::core::StepRequest>,
}

/// Number of steps that a round wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Stepped {
    steps: usize,
}

impl Service for Stepping {
    type Report = Stepped;
    const NAME: &'static str = "steps";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<Stepped, EngineError> {
        let steps = flow::write_waiting(&self.core, &mut self.to_step).await;
        Ok(Stepped { steps })
    }

    /// The next round is due at once, because steps may have arrived.
    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now
    }

    fn is_notable(report: &Stepped) -> bool {
        report.steps > 0
    }
}
