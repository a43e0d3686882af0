//! Counts fires by outcome, over a period up to now.

use std::collections::HashMap;

use entity::{Timestamp, fire::Verdict, run::State};
use sea_orm::FromQueryResult;
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::{
        bulk::BulkValues,
        days::{DAY_MS, day_of, first_key},
    },
};

/// The number of fires for each outcome. Fires whose run was cancelled are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of fires whose run succeeded.
    pub succeeded: i64,
    /// Number of fires whose run failed or timed out.
    pub failed: i64,
    /// Number of fires whose hand-off is pending, or whose run has not settled.
    pub running: i64,
    /// Number of fires that were skipped.
    pub skipped: i64,
    /// Number of fires that were missed, collapsed into a later one, or abandoned.
    pub missed: i64,
}

#[derive(FromQueryResult)]
struct FireCount {
    schedule_id: Uuid,
    verdict: Verdict,
    state: Option<State>,
    fires: i64,
}

/// The tallies of these schedules since the given instant.
pub async fn of_schedules(
    store: &Store,
    schedules: &[Uuid],
    since: Timestamp,
) -> Result<HashMap<Uuid, Tally>, StoreError> {
    if schedules.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "SELECT f.schedule_id AS schedule_id, f.verdict AS verdict, r.state AS state, \
           CAST(sum(f.count) AS bigint) AS fires FROM v \
         JOIN fire f ON f.schedule_id = v.id AND f.scheduled_at >= {{0}} \
         LEFT JOIN run r ON r.id = f.run_id{} GROUP BY f.schedule_id, f.verdict, r.state",
        runs_since(store, since)
    );
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        &sql,
        vec![since.0.into()],
    );
    let mut tallies = HashMap::new();
    for row in FireCount::find_by_statement(statement).all(store.read()).await? {
        let tally: &mut Tally = tallies.entry(row.schedule_id).or_default();
        tally.add(&row);
    }
    Ok(tallies)
}

/// The condition that bounds runs by key: a run is created after its fire's instant.
/// One day is allowed for differences between clocks.
fn runs_since(store: &Store, since: Timestamp) -> String {
    if !store.dialect().is_postgres() {
        return String::new();
    }
    let first = first_key(day_of(since.0) - DAY_MS);
    format!(" AND r.id >= '{first}'")
}

impl Tally {
    fn add(&mut self, row: &FireCount) {
        let end = match (row.verdict, row.state) {
            (Verdict::Pending, _) => &mut self.running,
            (Verdict::Skipped, _) => &mut self.skipped,
            (Verdict::Missed | Verdict::Collapsed | Verdict::Abandoned, _) => &mut self.missed,
            (Verdict::Started, Some(State::Succeeded)) => &mut self.succeeded,
            (Verdict::Started, Some(State::Failed | State::TimedOut)) => &mut self.failed,
            (Verdict::Started, Some(State::Queued | State::Running | State::Retrying)) => {
                &mut self.running
            }
            (Verdict::Started, Some(State::Cancelled) | None) => return,
        };
        *end += row.fires;
    }
}
