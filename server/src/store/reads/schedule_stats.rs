//! Computes figures about the runs of schedules in a period. The runs themselves are read, from the
//! newest of each schedule on, through the index on a schedule's runs.

use std::collections::HashMap;

use entity::{Timestamp, run::State};
use sea_orm::{FromQueryResult, Value};
use uuid::Uuid;

use crate::store::{Store, StoreError, days::first_key, db::bulk::BulkValues};

/// Maximum number of runs that are read for each schedule.
pub const MAX_RUNS: u64 = 500;
/// Maximum number of runs that one statement reads. All rows of a statement are decoded without a
/// pause, so the next statement lets other tasks run.
const MAX_ROWS: u64 = 50_000;

/// Figures about the runs of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFigures {
    /// Number of runs that were created in the period, live or settled.
    pub runs: i64,
    /// Number of runs that succeeded.
    pub succeeded: i64,
    /// Number of runs that failed or timed out.
    pub failed: i64,
    /// Number of runs that were stopped.
    pub cancelled: i64,
    /// Durations from start to end, in ascending order.
    pub durations: Vec<i64>,
    /// Durations of the successful runs, from start to end.
    pub successes: Vec<i64>,
    /// Times from due time to start in ascending order, for ended runs that fires started.
    pub waits: Vec<i64>,
    /// Times from due time to end in ascending order, for the same runs.
    pub spans: Vec<i64>,
    /// Times from due time to hand-off in ascending order, for runs that fires started.
    pub latenesses: Vec<i64>,
}

#[derive(FromQueryResult)]
struct RunRow {
    schedule_id: Uuid,
    state: State,
    due_at: Timestamp,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    fire_id: Option<Uuid>,
}

/// The figures of each of these schedules, from its newest `limit` runs
/// that were created from `from` up to `until`.
pub async fn of_schedules(
    store: &Store,
    schedules: &[Uuid],
    from: Timestamp,
    until: Timestamp,
    limit: u64,
) -> Result<HashMap<Uuid, RunFigures>, StoreError> {
    // The bounds are keys: the first 48 bits of a run's key are its creation time.
    let which = "run.schedule_id = v.id AND run.id >= {0} AND run.id < {1}";
    let first = store.dialect().newest_of_each("run", which, "run.id DESC", "{2}");
    let sql = format!(
        "SELECT run.schedule_id, run.state, run.due_at, run.created_at, run.started_at, \
           run.finished_at, run.fire_id FROM v {first}"
    );
    let values: Vec<Value> = vec![
        first_key(from.0).into(),
        first_key(until.0).into(),
        i64::try_from(limit).unwrap_or(i64::MAX).into(),
    ];
    let at_once = usize::try_from(MAX_ROWS / limit.max(1)).unwrap_or(usize::MAX).max(1);
    let mut figures: HashMap<Uuid, RunFigures> = HashMap::new();
    for some in schedules.chunks(at_once) {
        let bulk = BulkValues::default().uuid("id", some.iter().copied());
        let statement = bulk.statement(store.dialect(), &sql, values.clone());
        for row in RunRow::find_by_statement(statement).all(store.read()).await? {
            figures.entry(row.schedule_id).or_default().add(&row);
        }
    }
    for one in figures.values_mut() {
        for values in [
            &mut one.durations,
            &mut one.successes,
            &mut one.waits,
            &mut one.spans,
            &mut one.latenesses,
        ] {
            values.sort_unstable();
        }
        // Yield to other tasks, however many schedules there are.
        tokio::task::yield_now().await;
    }
    Ok(figures)
}

impl RunFigures {
    fn add(&mut self, row: &RunRow) {
        self.runs += 1;
        match row.state {
            State::Succeeded => self.succeeded += 1,
            State::Failed | State::TimedOut => self.failed += 1,
            State::Cancelled => self.cancelled += 1,
            State::Queued | State::Running | State::Retrying => {}
        }
        let since_due = |at: Timestamp| (at.0 - row.due_at.0).max(0);
        if let (Some(started), Some(finished)) = (row.started_at, row.finished_at) {
            let duration = (finished.0 - started.0).max(0);
            self.durations.push(duration);
            if row.state == State::Succeeded {
                self.successes.push(duration);
            }
            if row.fire_id.is_some() {
                self.waits.push(since_due(started));
                self.spans.push(since_due(finished));
            }
        }
        if row.fire_id.is_some() {
            self.latenesses.push(since_due(row.created_at));
        }
    }
}
