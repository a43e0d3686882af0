//! Zones: all nodes schedule by one release of the zone data, the newest that a living scheduler has.
//!
//! Promises: no cursor is moved by other rules than those; when they change, the cursors that were
//! computed by the former are computed anew. So an instant that newer rules bring forward is not
//! passed over, and one that they put off comes when it is to.
//!
//! The database says which release it is (`store::zone_rules`), and each transaction that moves a
//! cursor by the rules of its zone asks whether it is this node's. A node that has the newest and
//! finds another one there writes its own, which waits for whoever is computing by the former. One
//! whose data is older than that of a living scheduler stands back (`cluster::Standing`) until it
//! has left; then it goes on by what it has, and computes the cursors anew likewise.
//!
//! Only where a cursor belongs elsewhere something is written, and only if nobody has moved it
//! since. What nodes have checked is in the same row: a restart reads no schedule for it.

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
        zone_rules::{Placed, Replaced},
    },
};

const LEASE: &str = "zones";
/// So many schedules are looked at together.
const PAGE: u64 = 1_000;
/// No change of rules moves an instant by more: what lies further back is no cursor's place.
const FURTHEST: TimeDelta = TimeDelta::hours(26);

/// Has the nodes schedule by this node's zone data before it does anything, if that is its to say.
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

/// What the nodes schedule by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// This data, and all cursors have been computed by it.
    Checked,
    /// This data, and cursors may have been computed by other.
    Unchecked,
    /// This data from now on.
    Adopted,
    /// Newer data: this node is about to learn of it.
    Newer,
}

/// Has the nodes schedule by `own` data, if they do not yet.
async fn adopt(store: &Store, cluster: &Cluster, own: &str) -> Result<Rules, EngineError> {
    let rules = store.zone_rules().await?;
    match &rules {
        Some(rules) if rules.zone_data == own => {
            let is_checked = rules.checked_at.is_some();
            return Ok(if is_checked { Rules::Checked } else { Rules::Unchecked });
        }
        Some(rules) => {
            // What the last heartbeat told may be of a time before a newer node had joined.
            let fleet = cluster.fleet(store).await?;
            let newest = fleet.zone_data(cluster.suspect_after());
            if newest.is_some_and(|newest| timetable::is_later_release(newest, own)) {
                return Ok(Rules::Newer);
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
    Ok(Rules::Adopted)
}

/// Sees to it that cursors are where the zone data of the nodes has them.
#[derive(Debug)]
pub(in crate::engine) struct Zones {
    pub(in crate::engine) core: Arc<Core>,
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct ZonesReport {
    /// Schedules whose cursor was computed anew.
    checked: usize,
    /// Those of them that it moved.
    moved: u64,
}

impl Zones {
    /// Looks at all schedules.
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

    /// In a transaction that holds no schedule: it waits for all who compute by these rules.
    async fn note_checked(&self, own: &str, tenure: &LeaseTerm) -> Result<(), EngineError> {
        let core = &self.core;
        let Some(tx) = tenure.begin(&core.store, &core.clock).await? else { return Ok(()) };
        let now = core.agreed_now_in(&tx).await?;
        core.store.zone_rules_checked(&tx, own, now.into()).await?;
        Ok(core.store.commit_unseen(tx).await?)
    }

    fn moved(&self, placed: &Placed) -> Option<Replaced> {
        // One that is not understood any more says so when it is claimed.
        let timetable = self.core.timings.timetable(&definition(&placed.schedule)).ok()?;
        moved(placed, &timetable)
    }
}

/// Where the cursor belongs, if that is elsewhere: at the first instant behind what is accounted for,
/// but not before the definition began, nor far from where it is.
fn moved(placed: &Placed, timetable: &Timetable) -> Option<Replaced> {
    let schedule = &placed.schedule;
    let cursor = schedule.next_scheduled_at.utc();
    let before = |at: DateTime<Utc>| at - TimeDelta::milliseconds(1);
    let began = schedule.updated_at.utc();
    // What was to come before the last change is still to be accounted for.
    let began = if cursor > began { began } else { before(cursor) };
    let accounted = placed.last_fire_at.map(|at| at.utc());
    let behind = began.max(before(cursor - FURTHEST)).max(accounted.unwrap_or(began));
    let next = timetable.next(behind);
    let (to, fire_at) =
        (next.map(|fire| fire.at.into()), next.map(|fire| timetable.due_at(fire.at).into()));
    let is_another = to != Some(schedule.next_scheduled_at);
    is_another.then_some(Replaced {
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
            Rules::Checked | Rules::Newer => return Ok(report),
            Rules::Unchecked => {}
            // Nobody could claim until now.
            Rules::Adopted => core.signals.wake_planner(),
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
