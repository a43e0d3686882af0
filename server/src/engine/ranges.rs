//! Rows of many instants, kept off the instants that have a row already: a backfill does not wait
//! for the cursor, so an instant may be accounted for before the range that it lies in is written.
//! Single instants that have a row are left to the unique key.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use entity::Timestamp;
use sea_orm::ConnectionTrait;
use timetable::{Timetable, taken::Stretch};
use uuid::Uuid;

use super::{EngineError, core::new_id, planner::kind};
use crate::store::{Store, claims::NewFire};

/// The same rows with their ranges apart where instants have a row. Where the schedules are locked,
/// nobody writes one meanwhile; `timetables` has those of all that have a range.
pub(super) async fn around_taken<C: ConnectionTrait>(
    store: &Store,
    connection: &C,
    fires: Vec<NewFire>,
    timetables: &HashMap<Uuid, Timetable>,
    now: DateTime<Utc>,
) -> Result<Vec<NewFire>, EngineError> {
    let ranges = fires.iter().filter(|fire| fire.count > 1);
    let spans: Vec<(Uuid, Timestamp, Timestamp)> = ranges
        .map(|range| (range.schedule_id, range.scheduled_at, range.last_scheduled_at))
        .collect();
    let taken = store.instants_taken(connection, &spans).await?;
    if taken.is_empty() {
        return Ok(fires);
    }
    let mut apart = Vec::with_capacity(fires.len());
    for fire in fires {
        let taken = taken.get(&fire.schedule_id).map_or(&[][..], Vec::as_slice);
        let first = taken.partition_point(|at| *at < fire.scheduled_at);
        let last = taken.partition_point(|at| *at <= fire.last_scheduled_at);
        let within = taken.get(first..last).unwrap_or_default();
        match timetables.get(&fire.schedule_id) {
            Some(timetable) if fire.count > 1 && !within.is_empty() => {
                let within: Vec<DateTime<Utc>> = within.iter().map(|at| at.utc()).collect();
                let (from, to) = (fire.scheduled_at.utc(), fire.last_scheduled_at.utc());
                let stretches = timetable::taken::around(timetable, from, to, &within);
                apart.extend(stretches.into_iter().map(|part| row(&fire, timetable, &part, now)));
            }
            Some(_) | None => apart.push(fire),
        }
    }
    Ok(apart)
}

/// The row of a part of a range.
fn row(range: &NewFire, timetable: &Timetable, part: &Stretch, now: DateTime<Utc>) -> NewFire {
    NewFire {
        id: new_id(now),
        scheduled_at: part.fire.at.into(),
        due_at: timetable.due_at(part.fire.at).into(),
        last_scheduled_at: part.last.into(),
        count: i64::try_from(part.count).unwrap_or(i64::MAX),
        kind: kind(part.fire.kind),
        ..range.clone()
    }
}
