//! Zones: all nodes schedule by one release of the zone data, the newest that a live scheduler has.
//!
//! Promises: cursors move only by the rules of that release. When the release changes, cursors that
//! were computed by the old rules are recomputed. So an instant that newer rules bring forward is
//! not skipped, and one that they delay fires at its new time.
//!
//! The database records the release (`store::zone_rules`), and each transaction that moves a cursor
//! by its zone's rules checks that it is this node's own. A node that has the newest release and
//! finds an older one recorded writes its own, after waiting for transactions that compute by the
//! old one. A node whose data is older than a live scheduler's does not schedule
//! (`NodeReadiness::OldZones`) until that scheduler has left; then it continues with its own data,
//! and recomputes the cursors in the same way.
//!
//! Only cursors that change are written, and only if they have not been moved in the meantime. The
//! same row records which release the cursors were checked by, so a restart need not read every
//! schedule.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use timetable::Timetable;
use uuid::Uuid;

use super::planner::definition;
use crate::{
    clock::Clock,
    config::Role,
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
/// How many schedules are checked together.
const PAGE: u64 = 1_000;
/// No change of rules moves an instant by more than this, so a cursor is never moved further back.
const FURTHEST: TimeDelta = TimeDelta::hours(26);

/// Adopts this node's zone data for all nodes if it is the newest, before this node does any work.
pub(in crate::engine) async fn enter(
    store: &Store,
    clock: &Clock,
    cluster: &Cluster,
) -> Result<(), EngineError> {
    let settles = cluster.roles().has(Role::Scheduler);
    if settles && cluster.standing(clock) == NodeReadiness::Ready {
        adopt(store, cluster, &timetable::zone_data().version).await?;
    }
    Ok(())
}

/// The rules by which the nodes schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneDataState {
    /// This node's data, and all cursors have been computed by it.
    Checked,
    /// This node's data, but some cursors may have been computed by another release.
    Unchecked,
    /// This node's data, just adopted.
    Adopted,
    /// Newer data, which this node will read about in the next heartbeats.
    Newer,
}

/// Adopts the `own` data for all nodes, if it is not in use yet.
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
            tracing::warn!(
                own,
                before,
                "the zone data has changed: what is to come is computed anew"
            );
        }
        None => {}
    }
    store.set_zone_rules(own).await?;
    Ok(ZoneDataState::Adopted)
}

/// Makes sure that cursors match the zone data in use.
#[derive(Debug)]
pub(in crate::engine) struct Zones {
    pub(in crate::engine) core: Arc<Core>,
}

/// The results of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct ZonesReport {
    /// Schedules whose cursor was recomputed.
    checked: usize,
    /// Schedules whose cursor has moved because of that.
    moved: u64,
}

impl Zones {
    /// Checks all schedules.
    async fn check(&self, own: &str, report: &mut ZonesReport) -> Result<(), EngineError> {
        let core = &self.core;
        let term = core.settings.heartbeat_interval * 3;
        let mut after = Uuid::nil();
        while let Some(tenure) = lead(core, LEASE, term).await? {
            let end = core.store.page_end(after, PAGE).await?;
            let page = core.store.placed_by_zones(after, end).await?;
            report.checked += page.len();
            let moves: Vec<_> = page.iter().filter_map(|placed| self.moved(placed)).collect();
            if !moves.is_empty() {
                let Some(tx) = tenure.begin(&core.store, &core.clock).await? else { return Ok(()) };
                if core.store.other_zone_rules(&tx, own).await?.is_some() {
                    return Ok(tx.rollback().await?);
                }
                report.moved += core.store.replace_cursors(&tx, &moves).await?;
                core.store.commit(tx).await?;
                core.signals.wake_planner();
            }
            let Some(end) = end else { return self.note_checked(own, &tenure).await };
            after = end;
        }
        Ok(())
    }

    /// Records that all cursors are checked. Its transaction locks no schedule, because it waits
    /// for all transactions that compute by these rules.
    async fn note_checked(&self, own: &str, tenure: &LeaseTerm) -> Result<(), EngineError> {
        let core = &self.core;
        let Some(tx) = tenure.begin(&core.store, &core.clock).await? else { return Ok(()) };
        let now = core.agreed_now_in(&tx).await?;
        core.store.zone_rules_checked(&tx, own, now.into()).await?;
        Ok(core.store.commit_unseen(tx).await?)
    }

    fn moved(&self, placed: &ZonedCursor) -> Option<MovedCursor> {
        // If a timing can no longer be parsed, the claim of its schedule reports that.
        let timetable = self.core.timings.timetable(&definition(&placed.schedule)).ok()?;
        moved(placed, &timetable)
    }
}

/// Where the cursor belongs, if that differs from its place: at the first instant that is not
/// accounted for, but not before the definition began nor far from its present place.
fn moved(placed: &ZonedCursor, timetable: &Timetable) -> Option<MovedCursor> {
    let schedule = &placed.schedule;
    let cursor = schedule.next_scheduled_at.utc();
    let before = |at: DateTime<Utc>| at - TimeDelta::milliseconds(1);
    let began = schedule.updated_at.utc();
    // Instants that were due before the last change still have to be accounted for.
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
            // No node could claim until now.
            ZoneDataState::Adopted => core.signals.wake_planner(),
        }
        self.check(&own, &mut report).await?;
        if report.moved > 0 {
            tracing::info!(
                checked = report.checked,
                moved = report.moved,
                zone_data = own,
                "what is to come was computed anew"
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
