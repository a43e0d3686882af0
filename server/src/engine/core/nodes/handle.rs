//! The knowledge about the cluster that all services of a node share.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use entity::Strings;
use uuid::Uuid;

use super::{
    fleet::{Fleet, places},
    issues::Issue,
    offset::{ClockReading, is_right},
    ring::ClaimTurns,
    steps::ClockSteps,
    terms::SeenTerms,
    witness::HeartbeatObserver,
};
use crate::{
    clock::Clock,
    config::{NodeRole, Roles},
    engine::{EngineSettings, places::Places, quotas::Meter},
    store::{
        Store, StoreError,
        leases::ForeignLease,
        nodes::LivingNode,
        silence::{NodeDoubt, SilentNode},
    },
    target::{BrokerReport, Executor},
};

/// A node's knowledge of the other nodes and of itself. Cheap to clone; clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    settings: EngineSettings,
    executor: Option<Arc<Executor>>,
    seen: RwLock<FleetView>,
    reading: Mutex<Option<ClockReading>>,
    steps: Mutex<ClockSteps>,
    witness: Mutex<HeartbeatObserver>,
    terms: Mutex<SeenTerms>,
    refused: Mutex<Vec<Uuid>>,
    /// The lives that this node has begun since it last joined.
    begun: Mutex<Vec<Uuid>>,
    places: Places,
    meter: Meter,
    is_draining: AtomicBool,
    is_usurped: AtomicBool,
}

/// The facts about the other nodes that this node last read.
#[derive(Debug, Default)]
struct FleetView {
    fleet: Arc<Fleet>,
    /// The tags of each node that has clearly more room for runs than this node.
    emptier: Vec<Strings>,
    /// In which shards this node may claim, and when; `None` if it is alone.
    share: Option<Arc<ClaimTurns>>,
    /// The nodes that are asked to write a heartbeat to the database.
    doubtful: Vec<NodeDoubt>,
    /// Whether another node schedules by newer zone data.
    has_old_zones: bool,
    /// Whether an operator has drained this node.
    is_drained: bool,
}

/// Whether a node may schedule, and the reason if it may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeReadiness {
    /// The node may schedule.
    Ready,
    /// The node is shutting down.
    Draining,
    /// An operator has drained the node.
    Drained,
    /// Another process uses the node's name.
    Usurped,
    /// The node's clock is ahead of the database's by this much.
    ClockOff(TimeDelta),
    /// The node's zone data is older than that of another node that schedules.
    /// The node may execute runs.
    OldZones,
}

impl Cluster {
    pub(crate) fn new(settings: EngineSettings, executor: Arc<Executor>) -> Self {
        let places = Places::new(settings.capacity, settings.max_share, settings.quotas.live_runs);
        let meter = Meter::new(settings.quotas);
        let executor = Some(executor);
        Self { inner: Arc::new(Inner { settings, executor, places, meter, ..Inner::default() }) }
    }

    /// Whether the node may schedule, by the facts that it knows.
    pub fn standing(&self, clock: &Clock) -> NodeReadiness {
        if self.inner.is_draining.load(Ordering::Relaxed) {
            return NodeReadiness::Draining;
        }
        if self.inner.is_usurped.load(Ordering::Relaxed) {
            return NodeReadiness::Usurped;
        }
        match self.wrong_by(clock) {
            Some(offset) => NodeReadiness::ClockOff(offset),
            None if self.seen_now().is_drained => NodeReadiness::Drained,
            None if self.seen_now().has_old_zones => NodeReadiness::OldZones,
            None => NodeReadiness::Ready,
        }
    }

    /// How far the clock is ahead of the database's;
    /// `None` if it is right, as far as the node knows.
    pub(crate) fn wrong_by(&self, clock: &Clock) -> Option<TimeDelta> {
        let reading = *self.inner.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = reading?.estimate(clock.wall(), clock.instant());
        (!is_right(offset)).then_some(offset)
    }

    /// Reads which nodes are alive now.
    pub async fn fleet(&self, store: &Store) -> Result<Fleet, StoreError> {
        let expiry = self.inner.settings.heartbeat_expiry;
        Ok(Fleet::of(self.living_by(store, store.read()).await?, expiry))
    }

    /// How long a node may be silent before it loses its shards.
    pub fn suspect_after(&self) -> Duration {
        self.inner.settings.heartbeat_expiry / 2
    }

    pub(crate) fn settings(&self) -> &EngineSettings {
        &self.inner.settings
    }

    /// The node's roles.
    pub(crate) fn roles(&self) -> Roles {
        self.inner.settings.roles
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.inner.settings.node_name
    }

    /// Records the offset of the clock, and corrects the clock by it.
    /// Returns how far the wall clock is ahead, and `Some(true)` if the clock has become
    /// right or `Some(false)` if it has become wrong.
    pub(in crate::engine) fn note(
        &self,
        clock: &Clock,
        reading: ClockReading,
    ) -> (TimeDelta, Option<bool>) {
        let mut last = self.inner.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let was_right = last.is_none_or(|last| is_right(last.offset()));
        let reading = reading.narrowed_by(*last);
        *last = Some(reading);
        let is_right = is_right(reading.offset());
        // A clock that is further off than permitted is rejected instead of corrected.
        if is_right {
            clock.correct(reading.correction(clock.correction()));
        }
        (reading.offset(), (was_right != is_right).then_some(is_right))
    }

    /// Checks whether the wall clock was stepped since the last check.
    /// Returns the size of the step.
    pub(crate) fn look_at_clock(&self, clock: &Clock) -> Option<TimeDelta> {
        let mut steps = self.inner.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let step = steps.look(clock.wall(), clock.instant());
        // While its clock is wrong, this node fires nothing.
        if step.is_none() && self.wrong_by(clock).is_none() {
            steps.goes_by(clock.now());
        }
        step
    }

    /// The health check on steps of the wall clock.
    pub(crate) fn clock_steps(&self, clock: &Clock) -> Issue {
        let steps = self.inner.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.issue(clock.now(), clock.instant())
    }

    /// How far this node's clock was ahead at the last comparison.
    pub(crate) fn offset(&self) -> TimeDelta {
        let reading = self.inner.reading.lock().unwrap_or_else(PoisonError::into_inner);
        reading.as_ref().map_or(TimeDelta::zero(), ClockReading::offset)
    }

    /// Records the heartbeats in the rows of the other nodes.
    pub(crate) fn watch(&self, living: &[LivingNode], now: Instant) {
        self.witness().look(living, now);
    }

    /// The nodes whose rows have not changed for longer
    /// than the expiry, as this node has seen them.
    pub(crate) fn silent(&self, now: Instant) -> Vec<SilentNode> {
        self.witness().silent(self.inner.settings.heartbeat_expiry, now)
    }

    /// Records the schedules whose fires this node cannot write because the database refuses them.
    pub(crate) fn note_refused(&self, schedules: Vec<Uuid>) {
        *self.inner.refused.lock().unwrap_or_else(PoisonError::into_inner) = schedules;
    }

    /// The schedules whose fires this node cannot write because the database refuses them.
    pub fn refused(&self) -> Vec<Uuid> {
        self.inner.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that this node begins a life. Without an answer of the database, it is unknown
    /// whether that life exists.
    pub(in crate::engine) fn begins(&self, life: Uuid) {
        self.begun().push(life);
    }

    /// Records that this node has joined with a life, which has ended all its earlier ones.
    pub(in crate::engine) fn has_joined(&self, life: Uuid) {
        *self.begun() = vec![life];
    }

    /// Whether this node has begun that life.
    pub(in crate::engine) fn has_begun(&self, life: Uuid) -> bool {
        self.begun().contains(&life)
    }

    fn begun(&self) -> MutexGuard<'_, Vec<Uuid>> {
        self.inner.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of this node's connections to message brokers.
    pub fn brokers(&self) -> Vec<BrokerReport> {
        let executor = self.inner.executor.as_ref();
        executor.map_or_else(Vec::new, |executor| executor.broker_reports())
    }

    /// This node's places for runs.
    pub fn places(&self) -> &Places {
        &self.inner.places
    }

    /// This node's usage counts per namespace.
    pub fn meter(&self) -> &Meter {
        &self.inner.meter
    }

    /// Records another node's lease term.
    pub(crate) fn note_term(&self, name: &'static str, theirs: ForeignLease, now: Instant) {
        self.terms().look(name, theirs, now);
    }

    /// The lease term of another node, if it is over by this node's monotonic clock.
    pub(crate) fn term_over(&self, name: &str, now: Instant) -> Option<ForeignLease> {
        self.terms().over(name, now)
    }

    fn terms(&self) -> MutexGuard<'_, SeenTerms> {
        self.inner.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn witness(&self) -> MutexGuard<'_, HeartbeatObserver> {
        self.inner.witness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records which nodes are alive. Returns whether this node's share of the shards has changed.
    pub(crate) fn see(&self, own: Uuid, living: Vec<LivingNode>) -> bool {
        let settings = &self.inner.settings;
        let doubtful = self.doubtful(own, &living);
        let is_drained =
            |member: &LivingNode| member.node.id == own && member.node.drained_at.is_some();
        let is_drained = living.iter().any(is_drained);
        let fleet = Fleet::of(living, settings.heartbeat_expiry);
        let emptier = fleet.emptier_than(own, self.suspect_after());
        let ring = fleet.ring(self.suspect_after());
        let own_name = &settings.node_name;
        let now = ClaimTurns::of(own_name, &ring, settings.second_owner_after).map(Arc::new);
        let zone_data = timetable::zone_data().version;
        let newest = fleet.zone_data(self.suspect_after());
        let has_old_zones =
            newest.is_some_and(|newest| timetable::is_later_release(newest, &zone_data));
        let mut seen = self.inner.seen.write().unwrap_or_else(PoisonError::into_inner);
        let is_other = seen.share != now
            || seen.has_old_zones != has_old_zones
            || seen.is_drained != is_drained;
        match (seen.is_drained, is_drained) {
            (false, true) => tracing::warn!("this node was drained: it takes no new work"),
            (true, false) => tracing::info!("this node takes new work again"),
            (true, true) | (false, false) => {}
        }
        match (seen.has_old_zones, has_old_zones) {
            (false, true) => tracing::error!(
                own = zone_data,
                newest,
                "the zone data here is older than that of other nodes: nothing is scheduled here \
                 until it is the same, or they have left"
            ),
            (true, false) => {
                tracing::info!("no other node has newer zone data: this one schedules")
            }
            (true, true) | (false, false) => {}
        }
        let (fleet, share) = (Arc::new(fleet), now);
        *seen = FleetView { fleet, emptier, share, doubtful, has_old_zones, is_drained };
        is_other
    }

    fn seen_now(&self) -> RwLockReadGuard<'_, FleetView> {
        self.inner.seen.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes that were alive at the last heartbeat.
    pub fn seen(&self) -> Arc<Fleet> {
        self.seen_now().fleet.clone()
    }

    /// The nodes that this node doubts, as of the last heartbeat.
    pub(crate) fn to_doubt(&self) -> Vec<NodeDoubt> {
        self.seen_now().doubtful.clone()
    }

    /// The shards in which this node may claim; `None` if it is alone and may claim in all.
    pub(crate) fn share(&self) -> Option<Arc<ClaimTurns>> {
        self.seen_now().share.clone()
    }

    /// Whether this node takes runs that require all of these tags.
    pub(crate) fn takes(&self, asked: &[String]) -> bool {
        let settings = &self.inner.settings;
        settings.roles.has(NodeRole::Worker) && places(&settings.tags.0, asked)
    }

    /// Whether a node with all of these tags has clearly more
    /// room, so that it should take such runs first.
    pub(crate) fn lets_others_go_first(&self, asked: &[String]) -> bool {
        let seen = self.seen_now();
        seen.emptier.iter().any(|Strings(tags)| places(tags, asked))
    }

    /// Whether other nodes were alive at the last heartbeat.
    /// Their writes do not reliably wake this node.
    pub(crate) fn has_others(&self) -> bool {
        self.seen().members.len() > 1
    }

    /// Makes the node take no new work.
    pub(crate) fn begin_draining(&self) {
        self.inner.is_draining.store(true, Ordering::Relaxed);
    }

    /// Sets whether another process has taken the node's name. Returns whether that changed.
    pub(crate) fn set_usurped(&self, is_usurped: bool) -> bool {
        self.inner.is_usurped.swap(is_usurped, Ordering::Relaxed) != is_usurped
    }
}
