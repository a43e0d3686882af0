//! Reads the fires that have changed since a position.
//!
//! The feed has two parts. A fire with a run changes together with that run, in one transaction, so
//! it is read through the feed of runs. The other fires, which wait in a buffer or were decided
//! without a run, have stamps of their own. So a fire that starts at once is written as cheaply as
//! without this feed. Both parts are read up to their own ends, and a position is one in each, so
//! nothing is lost and nothing is read twice, however the two are interleaved.

use std::{collections::HashMap, fmt, str::FromStr};

use entity::{
    fire::{self, Verdict},
    run,
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait};
use uuid::Uuid;

use super::{
    batches,
    feed::{self, ChangedRows},
    within::Within,
};
use crate::store::{
    Cursor, Store, StoreError,
    db::{bulk::BulkValues, changes::NotACursor, days::DayRange},
};

/// A position in the feed of fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirePosition {
    /// The position in the feed of runs.
    pub runs: Cursor,
    /// The position among the fires without a run.
    pub fires: Cursor,
}

impl FirePosition {
    /// The position before all fires.
    pub const START: Self = Self { runs: Cursor::START, fires: Cursor::START };
}

impl fmt::Display for FirePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.runs, self.fires)
    }
}

impl FromStr for FirePosition {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (runs, fires) = text.split_once('_').ok_or(NotACursor)?;
        Ok(Self { runs: runs.parse()?, fires: fires.parse()? })
    }
}

/// Selects the fires to follow. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct FireFeedFilter {
    /// Only fires of this schedule.
    pub schedule_id: Option<Uuid>,
    /// Only fires that have one of these verdicts now.
    pub verdicts: Option<Vec<Verdict>>,
}

impl FireFeedFilter {
    fn fits(&self, fire: &fire::Model) -> bool {
        self.verdicts.as_ref().is_none_or(|verdicts| verdicts.contains(&fire.verdict))
    }
}

/// Fires that have changed, each with its position, and the position to continue from.
#[derive(Debug)]
pub struct ChangedFires {
    /// The fires, in the order of their positions.
    pub rows: Vec<(FirePosition, fire::Model)>,
    /// The position from which to continue.
    pub position: FirePosition,
    /// Whether there is more to read after that position.
    pub more: bool,
}

/// The end of the feed of fires. Later changes come after it.
pub async fn end(store: &Store) -> Result<FirePosition, StoreError> {
    Ok(FirePosition {
        runs: feed::end_of_runs(store).await?,
        fires: feed::end(store, "fire").await?,
    })
}

/// The fires that have changed since `after`. Reads up to `limit` changes of each part.
pub async fn changed(
    store: &Store,
    within: &Within,
    filter: &FireFeedFilter,
    after: FirePosition,
    limit: u64,
) -> Result<ChangedFires, StoreError> {
    let ran = runs_of_fires(store, within, filter, after.runs, limit).await?;
    let fires = of_runs(store, &ran.rows).await?;
    let mut rows = Vec::new();
    for run in &ran.rows {
        let position =
            FirePosition { runs: Cursor { changed: run.changed, id: run.id }, fires: after.fires };
        // A fire can be removed before its run is.
        let fire = run.fire_id.and_then(|id| fires.get(&id)).filter(|fire| filter.fits(fire));
        rows.extend(fire.map(|fire| (position, fire.clone())));
    }
    let others = without_run(store, within, filter, after.fires, limit).await?;
    let placed = others.rows.into_iter().map(|fire| {
        let position = FirePosition { runs: ran.position, fires: place_of(&fire) };
        (position, fire)
    });
    rows.extend(placed);
    Ok(ChangedFires {
        rows,
        position: FirePosition { runs: ran.position, fires: others.position },
        more: ran.more || others.more,
    })
}

fn place_of(fire: &fire::Model) -> Cursor {
    Cursor { changed: fire.changed.unwrap_or_default(), id: fire.id }
}

/// The runs with a fire that have changed since `after`.
async fn runs_of_fires(
    store: &Store,
    within: &Within,
    filter: &FireFeedFilter,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<run::Model>, StoreError> {
    use run::{Column, Entity};
    let end = feed::end_of_runs(store).await?;
    let theirs = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(Column::FireId.is_not_null())
        .apply_if(filter.schedule_id, |query, id| query.filter(Column::ScheduleId.eq(id)));
    let changed = feed::between(theirs, [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(feed::batch(rows, limit, after, end, |row| Cursor { changed: row.changed, id: row.id }))
}

/// The fires of these runs, by key.
async fn of_runs(
    store: &Store,
    runs: &[run::Model],
) -> Result<HashMap<Uuid, fire::Model>, StoreError> {
    let keys: Vec<(Uuid, i64)> =
        runs.iter().filter_map(|run| Some((run.fire_id?, run.scheduled_at.0))).collect();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let instants = runs.iter().map(|run| run.scheduled_at);
    let statement = BulkValues::default()
        .uuid("id", keys.iter().map(|(id, _)| *id))
        .int("scheduled_at", keys.iter().map(|(_, at)| *at))
        .days(DayRange::of_instants("fire.scheduled_at", instants))
        .statement(
            store.dialect(),
            "SELECT fire.* FROM v JOIN fire ON fire.id = v.id \
               AND fire.scheduled_at = v.scheduled_at {days}",
            vec![],
        );
    let found = fire::Entity::find().from_raw_sql(statement).all(store.read()).await?;
    let mut fires: HashMap<Uuid, fire::Model> =
        found.into_iter().map(|fire| (fire.id, fire)).collect();
    // The instant of a run can be inside the range of its fire.
    let ranges: Vec<Uuid> =
        keys.into_iter().map(|(id, _)| id).filter(|id| !fires.contains_key(id)).collect();
    if !ranges.is_empty() {
        let found = batches::fires(store, &ranges).await?;
        fires.extend(found.into_iter().map(|fire| (fire.id, fire)));
    }
    Ok(fires)
}

/// The stamped fires that have changed since `after`.
async fn without_run(
    store: &Store,
    within: &Within,
    filter: &FireFeedFilter,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<fire::Model>, StoreError> {
    use fire::{Column, Entity};
    let end = feed::end(store, "fire").await?;
    let theirs = Entity::find()
        // The index contains only these.
        .filter(Column::Changed.is_not_null())
        .filter(within.holds(Column::NamespaceId))
        .apply_if(filter.schedule_id, |query, id| query.filter(Column::ScheduleId.eq(id)))
        .apply_if(filter.verdicts.clone(), |query, verdicts| {
            query.filter(Column::Verdict.is_in(verdicts))
        });
    let changed = feed::between(theirs, [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(feed::batch(rows, limit, after, end, place_of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_its_text() {
        let cursor = |changed| Cursor { changed, id: Uuid::from_u128(7) };
        let position = FirePosition { runs: cursor(42), fires: cursor(-1) };
        assert_eq!(position.to_string().parse(), Ok(position));
        for text in ["", "_", "1", &cursor(1).to_string()] {
            assert_eq!(text.parse::<FirePosition>(), Err(NotACursor), "{text}");
        }
    }
}
