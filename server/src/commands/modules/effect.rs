//! The effect of a deployment on upcoming fires: the added and the removed ones, according to the
//! calculator that the planner uses.
//!
//! The effect is computed after the deployment's transaction, from rows that it has read: compiling
//! calendars takes a while, and SQLite has a single writer.
//!
//! The fires of a schedule before and after are walked side by side. The cost of a walk is bounded:
//! if it stops early (a schedule that fires every second has millions of fires), it reports the
//! instant up to which it compared. The totals are exact in any case.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{calendar, schedule::Model};
use timetable::Timetable;
use uuid::Uuid;

use crate::model::{
    Spec,
    calendars::{self, CompiledVersions, CurrentCalendars},
};

/// How many days ahead fires are compared.
const DAYS: i64 = 30;
/// Maximum number of fires to compare, for one schedule and for all together.
const OF_ONE: usize = 20_000;
const OF_ALL: usize = 300_000;
/// Maximum number of added and of removed instants to show: for a deployment, and for an edit.
const SAMPLE: usize = 3;
const SAMPLE_OF_EDIT: usize = 20;
const MS: TimeDelta = TimeDelta::milliseconds(1);

/// How a deployment affects upcoming fires.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The start of the comparison.
    pub from: DateTime<Utc>,
    /// The end of the comparison.
    pub until: DateTime<Utc>,
    /// How many fires the deployment adds.
    pub added: u64,
    /// How many fires the deployment removes.
    pub removed: u64,
    /// False if a schedule has more fires than are compared: then both numbers are lower bounds.
    pub is_complete: bool,
    /// The schedules whose fires change, by name.
    pub schedules: Vec<ScheduleEffect>,
}

/// How a deployment affects the fires of one schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleEffect {
    /// The schedule's name.
    pub name: String,
    /// The number of its fires up to `until` before the deployment; `None` if calendars have too
    /// many windows to count.
    pub before: Option<u64>,
    /// The number of its fires after the deployment.
    pub after: Option<u64>,
    /// How many fires are new.
    pub added: u64,
    /// How many fires are removed.
    pub removed: u64,
    /// The first new fires.
    pub added_sample: Vec<DateTime<Utc>>,
    /// The first removed fires.
    pub removed_sample: Vec<DateTime<Utc>>,
    /// The instant up to which added and removed fires are counted.
    pub compared_until: DateTime<Utc>,
    /// Whether all added and removed fires up to the end are counted.
    pub is_complete: bool,
}

/// A schedule's state, from which its upcoming fires follow.
#[derive(Clone)]
pub(crate) struct ScheduleOutlook {
    pub(crate) row: Model,
    pub(crate) timetable: Timetable,
}

/// The effect of another timing on the fires of a schedule, as of `now`.
pub(crate) fn effect_of_edit(
    before: &ScheduleOutlook,
    timetable: Timetable,
    now: DateTime<Utc>,
) -> ScheduleEffect {
    let until = now + TimeDelta::days(DAYS);
    // After an edit, the cursor starts from now.
    let row = Model { next_scheduled_at: Some(now.into()), ..before.row.clone() };
    let after = ScheduleOutlook { row, timetable };
    let (old, new) = (FiresAhead::of(before, now, until), FiresAhead::of(&after, now, until));
    let name = before.row.name.clone();
    let (mut looks, shown) = (OF_ONE, SAMPLE_OF_EDIT);
    compare(name, old.as_ref(), new.as_ref(), until, shown, &mut looks)
}

/// The instants of a timing after the first bound and up to the second, without those that a
/// calendar suppresses.
pub(crate) fn instants(
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Instants<'_> {
    if !timetable.has_calendars() {
        return Box::new(timetable.fires(after, until).map(|fire| fire.at));
    }
    let pieces = timetable.pieces(after, until);
    let allowed = pieces.filter(|piece| piece.suppressed_by.is_none());
    let fires = allowed.flat_map(move |piece| timetable.fires(piece.first.at - MS, piece.last));
    Box::new(fires.map(|fire| fire.at))
}

/// Calendars as they are stored, by their keys.
pub(super) type CalendarRows = HashMap<Uuid, Arc<calendar::Model>>;

/// The schedules that a deployment may affect, and the calendars that they name, at one moment.
#[derive(Default)]
pub(super) struct AffectedSchedules {
    pub(super) rows: HashMap<Uuid, Model>,
    pub(super) calendars: CalendarRows,
}

impl AffectedSchedules {
    /// The state of one of the schedules, taken out; `None` if there is no such schedule or its
    /// timing cannot be read. A schedule whose timing cannot be read does not fire.
    fn take(
        &mut self,
        id: Uuid,
        cache: &timetable::Cache,
        compiled: &mut CompiledVersions,
    ) -> Option<ScheduleOutlook> {
        let row = self.rows.remove(&id)?;
        let definition = Spec::of(&row).timing.definition(row.id, row.anchor_at.utc());
        let plain = cache.timetable(&definition).ok()?;
        let keys = row.calendars.iter().flat_map(|keys| keys.0.iter());
        let named = keys.filter_map(|key| self.calendars.get(key));
        let current: CurrentCalendars = named
            .map(|calendar| {
                let version = compiled.entry((calendar.id, calendar.version));
                (calendar.id, version.or_insert_with(|| calendars::compile(calendar)).clone())
            })
            .collect();
        let timetable = calendars::with(plain, row.calendars.as_ref(), &current).ok()?;
        Some(ScheduleOutlook { row, timetable })
    }
}

/// The schedules of a comparison, before and after a deployment.
#[derive(Default)]
pub(super) struct Outlooks {
    pub(super) before: AffectedSchedules,
    pub(super) after: AffectedSchedules,
    /// The changed calendars, with their versions before the change.
    pub(super) versions: HashMap<Uuid, i32>,
}

impl Outlooks {
    /// The effect, as of `now`. Each version of a calendar is compiled once, and only if a schedule
    /// whose fires may change names it. Computes for a while.
    pub(super) fn effect(mut self, now: DateTime<Utc>, cache: &timetable::Cache) -> Effect {
        let until = now + TimeDelta::days(DAYS);
        let mut effect =
            Effect { from: now, until, added: 0, removed: 0, is_complete: true, schedules: vec![] };
        let mut looks = OF_ALL;
        let mut compiled = CompiledVersions::new();
        for (name, id) in self.changed() {
            let before = self.before.take(id, cache, &mut compiled);
            let after = self.after.take(id, cache, &mut compiled);
            let before = before.as_ref().and_then(|one| FiresAhead::of(one, now, until));
            let after = after.as_ref().and_then(|one| FiresAhead::of(one, now, until));
            let one = compare(name, before.as_ref(), after.as_ref(), until, SAMPLE, &mut looks);
            effect.added += one.added;
            effect.removed += one.removed;
            effect.is_complete &= one.is_complete;
            if one.added > 0 || one.removed > 0 || !one.is_complete {
                effect.schedules.push(one);
            }
        }
        if !compiled.is_empty() {
            let calendars = compiled.len();
            tracing::debug!(calendars, "has compiled calendars after a deployment's transaction");
        }
        effect
    }

    /// The schedules whose fires may change, by name.
    fn changed(&self) -> Vec<(String, Uuid)> {
        let (before, after) = (&self.before.rows, &self.after.rows);
        let ids: HashSet<&Uuid> = before.keys().chain(after.keys()).collect();
        let ids = ids.into_iter().filter(|id| !self.is_same(before.get(*id), after.get(*id)));
        let name = |id: &Uuid| {
            let found = after.get(id).or_else(|| before.get(id));
            found.map(|row| row.name.clone()).unwrap_or_default()
        };
        let mut changed: Vec<(String, Uuid)> = ids.map(|id| (name(id), *id)).collect();
        changed.sort_unstable();
        changed
    }

    /// Whether nothing that determines the schedule's fires has changed.
    fn is_same(&self, before: Option<&Model>, after: Option<&Model>) -> bool {
        let (Some(old), Some(new)) = (before, after) else { return false };
        let keys = new.calendars.iter().flat_map(|keys| keys.0.iter());
        old.expressions == new.expressions
            && old.zone == new.zone
            && (old.dst_gap, old.dst_overlap) == (new.dst_gap, new.dst_overlap)
            && (old.start_at, old.end_at) == (new.start_at, new.end_at)
            && (old.enabled, old.paused_until) == (new.enabled, new.paused_until)
            && (old.max_fires, old.next_scheduled_at) == (new.max_fires, new.next_scheduled_at)
            && old.calendars == new.calendars
            && !keys.into_iter().any(|key| self.versions.contains_key(key))
    }
}

pub(crate) type Instants<'a> = Box<dyn Iterator<Item = DateTime<Utc>> + 'a>;

/// The fires of one schedule in the window.
struct FiresAhead<'a> {
    timetable: &'a Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    left: u64,
}

impl<'a> FiresAhead<'a> {
    /// `None` if the schedule does not fire, because it is paused or has no fires left.
    fn of(one: &'a ScheduleOutlook, now: DateTime<Utc>, until: DateTime<Utc>) -> Option<Self> {
        let row = &one.row;
        let cursor = row.next_scheduled_at?.utc();
        let mut after = now.max(cursor - MS);
        if !row.enabled {
            after = after.max(row.paused_until?.utc() - MS);
        }
        let left = row.max_fires.map_or(u64::MAX, |most| {
            u64::try_from(most.saturating_sub(row.fire_count)).unwrap_or_default()
        });
        Some(Self { timetable: &one.timetable, after, until, left })
    }

    fn count(&self) -> Option<u64> {
        let count = self.timetable.count_allowed(self.after, self.until)?;
        Some(count.min(self.left))
    }

    fn instants(&self) -> Instants<'a> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        Box::new(instants(self.timetable, self.after, self.until).take(left))
    }
}

fn compare(
    name: String,
    before: Option<&FiresAhead<'_>>,
    after: Option<&FiresAhead<'_>>,
    until: DateTime<Utc>,
    shown: usize,
    looks: &mut usize,
) -> ScheduleEffect {
    let count = |one: Option<&FiresAhead<'_>>| one.map_or(Some(0), FiresAhead::count);
    let mut told = ScheduleEffect {
        name,
        before: count(before),
        after: count(after),
        added: 0,
        removed: 0,
        added_sample: vec![],
        removed_sample: vec![],
        compared_until: until,
        is_complete: true,
    };
    // If the schedule fires only before or only after the deployment, that count is exact.
    match (before, after) {
        (None, Some(new)) if told.after.is_some() => {
            told.added = told.after.unwrap_or_default();
            told.added_sample = new.instants().take(shown).collect();
            return told;
        }
        (Some(old), None) if told.before.is_some() => {
            told.removed = told.before.unwrap_or_default();
            told.removed_sample = old.instants().take(shown).collect();
            return told;
        }
        (None | Some(_), None | Some(_)) => {}
    }
    let (mut old, mut new) = (before.map(FiresAhead::instants), after.map(FiresAhead::instants));
    let (mut left, mut right) = (next(&mut old), next(&mut new));
    for _ in 0..OF_ONE.min(*looks) {
        *looks -= 1;
        let (is_old, is_new, at) = match (left, right) {
            (None, None) => return told,
            (Some(at), None) => (true, false, at),
            (None, Some(at)) => (false, true, at),
            (Some(old), Some(new)) => (old <= new, new <= old, old.min(new)),
        };
        if is_old {
            left = next(&mut old);
        }
        if is_new {
            right = next(&mut new);
        }
        match (is_old, is_new) {
            (true, false) => note(at, &mut told.removed, &mut told.removed_sample, shown),
            (false, true) => note(at, &mut told.added, &mut told.added_sample, shown),
            (true, true) | (false, false) => {}
        }
    }
    let rest = left.into_iter().chain(right).min();
    if let Some(rest) = rest {
        told.is_complete = false;
        told.compared_until = rest - MS;
    }
    told
}

fn next(of: &mut Option<Instants<'_>>) -> Option<DateTime<Utc>> {
    of.as_mut().and_then(Iterator::next)
}

fn note(at: DateTime<Utc>, count: &mut u64, sample: &mut Vec<DateTime<Utc>>, shown: usize) {
    *count += 1;
    if sample.len() < shown {
        sample.push(at);
    }
}
