use std::collections::{BTreeSet, HashMap};

use chrono::TimeDelta;
use entity::{Timestamp, schedule};
use sea_orm::ConnectionTrait;
use timetable::Timetable;

use super::InstantFacts;
use crate::{
    model::Spec,
    store::{Store, StoreError, instants::RangeOver, schedules},
};

/// The facts in the tables about these instants of a schedule, which may be in any order.
/// An instant without facts is absent from the result. The schedule's row must be read before,
/// so that a claim made in the meantime shows in the ledger.
pub async fn survey(
    store: &Store,
    connection: &impl ConnectionTrait,
    timings: &timetable::Cache,
    schedule: &schedule::Model,
    instants: &[Timestamp],
) -> Result<HashMap<Timestamp, InstantFacts>, StoreError> {
    let (Some(first), Some(last)) = (instants.iter().min(), instants.iter().max()) else {
        return Ok(HashMap::new());
    };
    let mut facts: HashMap<Timestamp, InstantFacts> = HashMap::new();
    for row in store.rows_at(connection, schedule.id, instants).await? {
        let facts = facts.entry(row.at).or_default();
        if row.count > 1 {
            facts.range = Some(row.fire_id);
        } else {
            facts.row = Some(row);
        }
    }
    for run in store.runs_at(connection, schedule.id, instants).await? {
        facts.entry(run.at).or_default().runs.push(run);
    }
    facts.values_mut().for_each(|facts| facts.runs.sort_unstable_by_key(|run| run.run_id));
    let ranges = store.ranges_over(connection, schedule.id, *first, *last).await?;
    let named = timetables(connection, timings, schedule, &ranges).await?;
    let cursor = schedule.next_scheduled_at.filter(|_| schedule.enabled);
    for at in instants {
        // Ranges do not overlap, so only the last one
        // that begins before the instant can contain it.
        let index = ranges.partition_point(|range| range.scheduled_at <= *at);
        let before = index.checked_sub(1).and_then(|index| ranges.get(index));
        let holds = |range: &&RangeOver| {
            *at <= range.last_scheduled_at
                && named.get(&range.schedule_version).is_none_or(|timetable| names(timetable, *at))
        };
        if let Some(range) = before.filter(holds) {
            facts.entry(*at).or_default().range = Some(range.fire_id);
        }
        if cursor.is_some_and(|cursor| *at >= cursor) {
            let facts = facts.entry(*at).or_default();
            facts.is_to_come = facts.fire_id().is_none();
        }
    }
    Ok(facts)
}

/// The timings of these ranges, by version. After an edit, a range contains an instant only if the
/// old timing had that instant. Timings that can no longer be read are left out.
async fn timetables(
    connection: &impl ConnectionTrait,
    timings: &timetable::Cache,
    schedule: &schedule::Model,
    ranges: &[RangeOver],
) -> Result<HashMap<i32, Timetable>, StoreError> {
    if ranges.is_empty() {
        return Ok(HashMap::new());
    }
    let versions: BTreeSet<i32> = ranges.iter().map(|range| range.schedule_version).collect();
    let (current, past): (Vec<i32>, Vec<i32>) =
        versions.into_iter().partition(|version| *version == schedule.version);
    let mut specs: Vec<(i32, Spec)> =
        current.into_iter().map(|version| (version, Spec::of(schedule))).collect();
    if !past.is_empty() {
        for row in schedules::versions_of(connection, schedule.id, &past).await? {
            specs.extend(serde_json::from_value(row.snapshot).ok().map(|spec| (row.version, spec)));
        }
    }
    let timetable = |(version, spec): (i32, Spec)| {
        let definition = spec.timing.definition(schedule.id, schedule.anchor_at.utc());
        Some((version, timings.timetable(&definition).ok()?))
    };
    Ok(specs.into_iter().filter_map(timetable).collect())
}

fn names(timetable: &Timetable, at: Timestamp) -> bool {
    let at = at.utc();
    timetable.fires(at - TimeDelta::milliseconds(1), at).next().is_some()
}
