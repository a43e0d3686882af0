//! Counts the fires of schedules in a period by verdict. The rows are read, from the newest of each
//! schedule on, through the index on a schedule's instants.

use std::collections::HashMap;

use entity::{Timestamp, fire::Verdict};
use sea_orm::FromQueryResult;
use uuid::Uuid;

use crate::store::{Store, StoreError, db::bulk::BulkValues};

/// Maximum number of rows that are counted for all schedules together.
const MAX_COUNTED: i64 = 200_000;

/// The outcomes of a schedule's instants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Number of instants with each verdict that occurs.
    pub counts: Vec<(Verdict, i64)>,
    /// Number of rows that were counted.
    pub rows: i64,
    /// Whether all rows were counted.
    pub is_complete: bool,
}

#[derive(FromQueryResult)]
struct OutcomeRow {
    schedule_id: Uuid,
    verdict: Verdict,
    instants: i64,
    fires: i64,
}

/// The outcomes of each of these schedules' instants from `from` up to `until`. A schedule without
/// a row is left out.
pub async fn of_schedules(
    store: &Store,
    schedules: &[Uuid],
    from: Timestamp,
    until: Timestamp,
) -> Result<HashMap<Uuid, Outcomes>, StoreError> {
    if schedules.is_empty() {
        return Ok(HashMap::new());
    }
    let limit = MAX_COUNTED / i64::try_from(schedules.len()).unwrap_or(i64::MAX);
    let which = "fire.schedule_id = v.id AND fire.scheduled_at >= {0} AND fire.scheduled_at < {1}";
    let first = store.dialect().newest_of_each("fire", which, "fire.scheduled_at DESC", "{2}");
    let sql = format!(
        "SELECT fire.schedule_id, fire.verdict, CAST(sum(fire.count) AS bigint) AS instants, \
           count(*) AS fires FROM v {first} GROUP BY fire.schedule_id, fire.verdict"
    );
    let values = vec![from.0.into(), until.0.into(), limit.into()];
    let bulk = BulkValues::default().uuid("id", schedules.iter().copied());
    let statement = bulk.statement(store.dialect(), &sql, values);
    let mut outcomes: HashMap<Uuid, Outcomes> = HashMap::new();
    for row in OutcomeRow::find_by_statement(statement).all(store.read()).await? {
        let one = outcomes.entry(row.schedule_id).or_default();
        one.counts.push((row.verdict, row.instants));
        one.rows += row.fires;
    }
    for one in outcomes.values_mut() {
        one.is_complete = one.rows < limit;
    }
    Ok(outcomes)
}
