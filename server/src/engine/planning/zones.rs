//! All nodes schedule by one release of the zone data: the newest that a live scheduler has.
//!
//! Cursors move only by the rules of that release. When the release changes, cursors that were
//! computed by the old rules are recomputed. So an instant that newer rules bring forward is not
//! skipped, and an instant that they delay fires at its new time.
//!
//! The database records the release in use (`store::zone_rules`). Each transaction that moves
//! a cursor by its zone's rules checks that this is the node's own release.
//! If a node has the newest release and finds an older one recorded, it records its own, after
//! waiting for transactions that compute by the old one. If a live scheduler has newer data than
//! a node, that node does not schedule (`NodeReadiness::OldZones`) until the scheduler has left.
//! Then it continues with its own data, and recomputes the cursors in the same way.
//!
//! Only cursors that change are written, and only if they have not moved in the meantime.
//! The row with the release also records that all cursors were checked by it,
//! so a restart need not read every schedule.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use timetable::Timetable;
use uuid::Uuid;

use super::planner::definition;
use crate::{
    clock::Clock,
    config::NodeRole,
    engine::{
        EngineError,
        cluster::{Cluster, LeaseTerm, NodeReadiness, lead},
        core::Core,
        service::Service,
    },
    store::{
        Store,
        zone_rules::{MovedCursor, ZonedCursor},
    },
};

const LEASE: &str = "zones";
/// Number of schedules that are checked together.
const PAGE: u64 = 1_000;
/// No change of rules moves an instant by more than this, so no cursor is moved further back.
const FURTHEST: TimeDelta = TimeDelta::hours(26);

/// Before this node does any work, adopts its zone data for all nodes if it is the newest.
pub(in crate::engine) async fn enter(
    store: &Store,
    clock: &Clock,
    cluster: &Cluster,
) -> Result<(), EngineError> {
    let settles = cluster.roles().has(NodeRole::Scheduler);
    if settles && cluster.standing(clock) == NodeReadiness::Ready {
        adopt(store, cluster, &timetable::zone_data().version).await?;
    }
    Ok(())
}

/// How this node's zone data compares with the data by which the nodes schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneDataState {
    /// The nodes use this node's data, and all cursors have been computed by it.
    Checked,
    /// The nodes use this node's data, but some cursors may have been computed by another release.
    Unchecked,
    /// The nodes use this node's data, which it has just adopted for them.
    Adopted,
    /// Another node has newer data, as this node will learn from the next heartbeats.
    Newer,
}

/// Adopts the `own` data for all nodes, unless they use it already.
async fn adopt(store: &Store, cluster: &Cluster, own: &str) -> Result<ZoneDataState, EngineError> {
    let rules = store.zone_rules().await?;
    match &rules {
        Some(rules) if rules.zone_data == own => {
            let is_checked = rules.checked_at.is_some();
            return Ok(if is_checked { ZoneDataState::Checked } else { ZoneDataState::Unchecked });
        }
        Some(rules) => {
            // A node with newer data may have joined since the last heartbeat.
            let fleet = cluster.fleet(store).await?;
            let newest = fleet.zone_data(cluster.suspect_after());
            if newest.is_some_and(|newest| timetable::is_later_release(newest, own)) {
                return Ok(ZoneDataState::Newer);
            }
            let before = &rules.zone_data;
            tracing::warn!(own, before, "the zone data has changed: upcoming fires are recomputed");
        }
        None => {}
    }
    store.set_zone_rules(own).await?;
    Ok(ZoneDataState::Adopted)
}

/// The service that makes sure that cursors match the zone data in use.
#[derive(Debug)]
pub(in crate::engine) struct Zones {
    pub(in crate::engine) core: Arc<Core>,
}

/// The results of a round of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct ZonesReport {
    /// Number of schedules whose cursor was recomputed.
    checked: usize,
    /// Number of schedules whose cursor moved.
    moved: u64,
}

impl Zones {
    /// Checks the cursors of all schedules.
    async fn check(&self, own: &str, report: &mut ZonesReport) -> Result<(), EngineError> {
        let core = &self.core;
        let term = core.settings.heartbeat_interval * 3;
        let mut after = Uuid::nil();
        while let Some(lease) = lead(core, LEASE, term).await? {
            let end = core.store.page_end(after, PAGE).await?;
            let page = core.store.placed_by_zones(after, end).await?;
            report.checked += page.len();
            let moves: Vec<_> = page.iter().filter_map(|placed| self.moved(placed)).collect();
            if !moves.is_empty() {
                let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(()) };
                if core.store.other_zone_rules(&tx, own).await?.is_some() {
                    return Ok(tx.rollback().await?);
                }
                report.moved += core.store.replace_cursors(&tx, &moves).await?;
                core.store.commit(tx).await?;
                core.signals.wake_planner();
            }
            let Some(end) = end else { return self.note_checked(own, &lease).await };
            after = end;
        }
        Ok(())
    }

    /// Records that all cursors are checked. The transaction locks no schedule, because it waits
    /// for all transactions that compute by these rules.
    async fn note_checked(&self, own: &str, lease: &LeaseTerm) -> Result<(), EngineError> {
        let core = &self.core;
        let Some(tx) = lease.begin(&core.store, &core.clock).await? else { return Ok(()) };
        let now = core.agreed_now_in(&tx).await?;
        core.store.zone_rules_checked(&tx, own, now.into()).await?;
        Ok(core.store.commit_unseen(tx).await?)
    }

    fn moved(&self, placed: &ZonedCursor) -> Option<MovedCursor> {
        // If a timing can no longer be parsed, the claim of its schedule will report that.
        let timetable = self.core.timings.timetable(&definition(&placed.schedule)).ok()?;
        moved(placed, &timetable)
    }
}

/// The new position of a cursor; `None` if it stays. The cursor belongs at the first instant
/// without a row, but not before the start of the definition nor far from its present position.
fn moved(placed: &ZonedCursor, timetable: &Timetable) -> Option<MovedCursor> {
    let schedule = &placed.schedule;
    let cursor = schedule.next_scheduled_at.utc();
    let before = |at: DateTime<Utc>| at - TimeDelta::milliseconds(1);
    let began = schedule.updated_at.utc();
    // Instants that were due before the last change still need a row.
    let began = if cursor > began { began } else { before(cursor) };
    let accounted = placed.last_fire_at.map(|at| at.utc());
    let behind = began.max(before(cursor - FURTHEST)).max(accounted.unwrap_or(began));
    let next = timetable.next(behind);
    let (to, fire_at) =
        (next.map(|fire| fire.at.into()), next.map(|fire| timetable.due_at(fire.at).into()));
    let is_another = to != Some(schedule.next_scheduled_at);
    is_another.then_some(MovedCursor {
        schedule_id: schedule.id,
        version: schedule.version,
        from: schedule.next_scheduled_at,
        to,
        fire_at,
    })
}

impl Service for Zones {
    type Report = ZonesReport;
    const NAME: &'static str = "zones";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<ZonesReport, EngineError> {
        let core = &self.core;
        let mut report = ZonesReport::default();
        if !core.may_schedule().await? {
            return Ok(report);
        }
        let own = timetable::zone_data().version;
        match adopt(&core.store, &core.cluster, &own).await? {
            ZoneDataState::Checked | ZoneDataState::Newer => return Ok(report),
            ZoneDataState::Unchecked => {}
            // No node could claim until now, so the planner is woken.
            ZoneDataState::Adopted => core.signals.wake_planner(),
        }
        self.check(&own, &mut report).await?;
        if report.moved > 0 {
            tracing::info!(
                checked = report.checked,
                moved = report.moved,
                zone_data = own,
                "upcoming fires were recomputed"
            );
        }
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.heartbeat_interval).unwrap_or_default()
    }

    fn is_notable(report: &ZonesReport) -> bool {
        report.moved > 0
    }
}
