//! A node's membership: it joins, sends heartbeats and leaves. Also stops attempts on request.

use std::{collections::HashSet, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::{ClockReading, Cluster, Fleet, NodeReadiness};
use crate::{
    clock::Clock,
    engine::{
        EngineError, EngineSettings, cluster,
        core::{Core, StopReason},
        service::Service,
        signals::SignalKind,
    },
    random::new_id,
    store::{
        Store, WriteRefusal,
        holds::RunLease,
        nodes::{Beat, BeatOutcome, JoiningNode},
    },
};

/// Starts the first life of a process and returns its key.
/// Fails if the clock is wrong or if another live process uses the name.
pub(in crate::engine) async fn enter(
    store: &Store,
    clock: &Clock,
    settings: &EngineSettings,
    cluster: &Cluster,
) -> Result<Uuid, EngineError> {
    let asked = clock.wall();
    let database = store.lease_time().await?.utc();
    let (offset, turned) = cluster.note(clock, ClockReading::of(clock, asked, database));
    if turned == Some(false) {
        return Err(EngineError::ClockOff { offset: cluster::describe(offset) });
    }
    cluster::make_way(store, clock, settings, cluster).await?;
    let id = join(store, clock, settings, cluster).await?;
    let living = cluster.living(store).await?;
    cluster.watch(&living, clock.instant());
    let fleet = Fleet::of(living, settings.heartbeat_expiry);
    cluster.see(id, fleet.members.clone());
    // Log the problems that `/healthz` reports, because
    // an operator who starts a node reads its log.
    let (name, readiness) = (cluster.name(), cluster.standing(clock));
    let wrong = crate::engine::core::nodes::issues(&fleet, &[], name, readiness);
    let wrong = wrong.into_iter().chain(cluster::redis(&fleet, name, cluster.redis()));
    for problem in wrong.filter_map(|issue| issue.problem) {
        tracing::warn!(%problem, "the cluster has a problem");
    }
    Ok(id)
}

/// Starts a new life of the process and returns its key.
async fn join(
    store: &Store,
    clock: &Clock,
    settings: &EngineSettings,
    cluster: &Cluster,
) -> Result<Uuid, EngineError> {
    let id = new_id(clock.now());
    let joining = JoiningNode {
        id,
        name: settings.node_name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        zone_data: timetable::zone_data().version.clone(),
        process: cluster::own_process(),
        roles: settings.roles.words().map(str::to_owned).collect(),
        tags: settings.tags.0.clone(),
        capacity: i32::try_from(settings.capacity).unwrap_or(i32::MAX),
        clock_offset_ms: cluster.offset().num_milliseconds(),
        beats_in: cluster.beats_in(),
    };
    cluster.begins(id);
    store.join(&joining).await?;
    cluster.has_joined(id);
    Ok(id)
}

/// The service that sends the heartbeat and reads which other nodes are alive. A node that finds
/// itself declared dead stops its attempts, because other nodes hold them by then. It starts a new
/// life, unless another process has taken its name: the two would end each other's lives for ever.
#[derive(Debug)]
pub(in crate::engine) struct Pulse {
    pub(in crate::engine) core: Arc<Core>,
    /// Why the database rejects writes, as last logged.
    refusing: Option<WriteRefusal>,
}

/// The results of a heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PulseReport {
    /// Number of attempts stopped because the node had been declared dead.
    pub lost: usize,
    /// Whether the node began a new life.
    pub rejoined: bool,
    /// Whether the node has no life now, because another process uses its name.
    pub is_usurped: bool,
    /// Whether the node now owns other shards than before.
    pub has_another_share: bool,
}

impl Pulse {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core, refusing: None }
    }

    /// Logs when the database begins to reject writes, and when that ends.
    fn tell_of_writes(&mut self) {
        let refusing = self.core.store.refusing();
        match (self.refusing, refusing) {
            (was, Some(why)) if was != Some(why) => {
                tracing::error!(problem = %why.problem(), "the database does not accept writes");
            }
            (Some(_), None) => tracing::info!("the database accepts writes again"),
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
        self.refusing = refusing;
    }

    /// Sends the heartbeat with the state of the node's clock.
    async fn beat(&self, node: Uuid) -> Result<BeatOutcome, EngineError> {
        let core = &self.core;
        let held = i32::try_from(core.registry.count()).unwrap_or(i32::MAX);
        let mut told_again = false;
        loop {
            let clock_offset_ms = core.cluster.offset().num_milliseconds();
            let asked = core.clock.wall();
            let beat = Beat { held, clock_offset_ms, redis_problem: None };
            let beat = core.cluster.beat(&core.store, node, beat).await?;
            let BeatOutcome::Alive(at) = beat else { return Ok(beat) };
            // The clock has become right or wrong, so the other nodes are told immediately.
            if !core.note_clock(asked, at.utc()) || told_again {
                return Ok(beat);
            }
            told_again = true;
        }
    }

    /// Handles the end of the node's life: starts a new one, unless another process uses its name.
    async fn rejoin(&self, node: Uuid) -> Result<bool, EngineError> {
        let core = &self.core;
        if core.cluster.standing(&core.clock) == NodeReadiness::Draining {
            // A draining node takes no new work, and other nodes hold its old work by now.
            return Ok(false);
        }
        let name = &core.settings.node_name;
        let is_usurped =
            cluster::has_namesake(&core.store, &core.settings, &core.cluster, node).await?;
        let is_news = core.cluster.set_usurped(is_usurped);
        if is_usurped {
            if is_news {
                tracing::error!(
                    %node, name,
                    "another process has joined under this node's name and ended its life; this \
                     one schedules nothing and takes no run from now on: give each process a \
                     node.name of its own, or stop one of the two"
                );
            }
            return Ok(false);
        }
        tracing::error!(%node, "this node was declared dead; it starts a new life");
        let mut current = core.node.write().await;
        *current = join(&core.store, &core.clock, &core.settings, &core.cluster).await?;
        // The dispatcher could not take work under the old life.
        core.signals.wake_here(SignalKind::Dispatcher);
        core.signals.wake_here(SignalKind::Planner);
        Ok(true)
    }
}

impl Service for Pulse {
    type Report = PulseReport;
    const NAME: &'static str = "pulse";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<PulseReport, EngineError> {
        self.tell_of_writes();
        let core = &self.core;
        let node = core.node_id().await;
        let mut report = PulseReport::default();
        if self.beat(node).await? == BeatOutcome::Lost {
            report.rejoined = self.rejoin(node).await?;
            report.is_usurped = !report.rejoined;
        }
        let node = core.node_id().await;
        // Attempts are checked at each heartbeat, because one may have begun
        // under the old life while the new one started.
        let is_lost = |hold: &RunLease| report.is_usurped || hold.node_id != node;
        report.lost = core.registry.stop(StopReason::Lost, is_lost);
        let living = core.cluster.living(&core.store).await?;
        core.cluster.watch(&living, core.clock.instant());
        report.has_another_share = core.cluster.see(node, living);
        if report.has_another_share {
            core.signals.wake_here(SignalKind::Planner);
            core.signals.wake_here(SignalKind::Dispatcher);
        }
        // Each node decides by itself which others to doubt,
        // because nodes may receive different heartbeats.
        let doubts = core.cluster.to_doubt();
        if core.store.doubt_if_silent(&doubts, core.cluster.doubted_after()).await? > 0 {
            core.signals.wake_pulse();
        }
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.heartbeat_interval).unwrap_or_default()
    }

    fn is_notable(report: &PulseReport) -> bool {
        *report != PulseReport::default()
    }
}

/// The service that stops attempts on request, and attempts whose run was ended elsewhere.
///
/// A cancel request belongs to the run, not to one node's hold on it, and is never withdrawn.
/// The request is in the tables; the wake-up of this service carries no data.
/// So a request cannot miss one hold and hit the next one by mistake: if a hold is lost before
/// the request is seen, no new attempt of the run begins. If a run with a request is lost,
/// released or parked, the service that writes that change also cancels the run.
#[derive(Debug)]
pub(in crate::engine) struct Canceller {
    pub(in crate::engine) core: Arc<Core>,
}

/// The attempts that a round stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CancellerReport {
    /// Number of attempts that were sent a stop signal.
    pub stopped: usize,
    /// Number of attempts that were stopped because the node had lost the run.
    pub lost: usize,
}

impl Service for Canceller {
    type Report = CancellerReport;
    const NAME: &'static str = "canceller";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<CancellerReport, EngineError> {
        let core = &self.core;
        if core.registry.count() == 0 {
            return Ok(CancellerReport::default());
        }
        let node = core.node_id().await;
        let wanted = core.store.cancel_requests(node).await?;
        let stopped =
            core.registry.stop(StopReason::Cancelled, |hold| wanted.contains(&hold.run_id));
        // This list must be read before the tables.
        // Then each hold in it is in the tables, too, unless the node has lost it.
        // Holds of an earlier life of this node are left to a later round.
        let held = core.registry.holds().into_iter().filter(|hold| hold.node_id == node);
        let there: HashSet<RunLease> = core.store.held_by(node).await?.into_iter().collect();
        let gone: HashSet<RunLease> = held.filter(|hold| !there.contains(hold)).collect();
        let lost = core.registry.stop(StopReason::Lost, |hold| gone.contains(hold));
        Ok(CancellerReport { stopped, lost })
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.heartbeat_interval).unwrap_or_default()
    }

    fn is_notable(report: &CancellerReport) -> bool {
        *report != CancellerReport::default()
    }
}
