use std::collections::HashMap;

use entity::Timestamp;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::Facts;
use crate::store::{Store, StoreError};

/// What the tables say of these instants of a schedule, which come in any order. One without facts
/// has none.
pub async fn survey(
    store: &Store,
    connection: &impl ConnectionTrait,
    schedule: Uuid,
    instants: &[Timestamp],
) -> Result<HashMap<Timestamp, Facts>, StoreError> {
    let (Some(first), Some(last)) = (instants.iter().min(), instants.iter().max()) else {
        return Ok(HashMap::new());
    };
    let mut facts: HashMap<Timestamp, Facts> = HashMap::new();
    for row in store.rows_at(connection, schedule, instants).await? {
        let facts = facts.entry(row.at).or_default();
        if row.count > 1 {
            facts.range = Some(row.fire_id);
        } else {
            facts.row = Some(row);
        }
    }
    for run in store.runs_at(connection, schedule, instants).await? {
        facts.entry(run.at).or_default().runs.push(run);
    }
    facts.values_mut().for_each(|facts| facts.runs.sort_unstable_by_key(|run| run.run_id));
    let ranges = store.ranges_over(connection, schedule, *first, *last).await?;
    if ranges.is_empty() {
        return Ok(facts);
    }
    for at in instants {
        // Ranges do not overlap: only the last that begins before the instant can hold it.
        let index = ranges.partition_point(|range| range.scheduled_at <= *at);
        let before = index.checked_sub(1).and_then(|index| ranges.get(index));
        if let Some(range) = before.filter(|range| *at <= range.last_scheduled_at) {
            facts.entry(*at).or_default().range = Some(range.fire_id);
        }
    }
    Ok(facts)
}
