//! Reads what each of some schedules did in a range of time: its runs, and its fires without a run.
//!
//! The number of statements does not depend on the number of schedules. Only a bounded number of
//! runs and fires of each schedule is read, the newest ones.

use std::collections::HashMap;

use entity::{
    Timestamp,
    fire::{Reason, Verdict},
    run::State,
};
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::timeline::{TimelineRange, UNRUN, alive_in};
use crate::store::{
    Store, StoreError,
    days::{DAY_MS, first_key},
    db::bulk::BulkValues,
};

/// Maximum number of runs of a schedule that are read one by one. The runs of a schedule with more
/// of them are counted by the step of the range.
pub const MAX_RUNS: usize = 200;
/// Maximum number of live runs of a schedule that were created more than a day before the range.
const MAX_OLDER: i64 = 20;
/// Maximum number of runs that are read to be counted, of all schedules of a page together; the
/// same for fires.
const MAX_COUNTED: usize = 600_000;

/// A run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct LaneRun {
    /// The run's key.
    pub id: Uuid,
    /// The run's schedule.
    pub schedule_id: Uuid,
    /// The run's state.
    pub state: State,
    /// The fire that started the run, if any.
    pub fire_id: Option<Uuid>,
    /// The instant that the run is for.
    pub scheduled_at: Timestamp,
    /// When the run was created.
    pub created_at: Timestamp,
    /// When the first attempt started.
    pub started_at: Option<Timestamp>,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
}

/// The runs of a schedule that began in a step of the range.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct RunStep {
    /// The schedule.
    pub schedule_id: Uuid,
    /// The number of the step, from 0.
    pub step: i64,
    /// Number of runs.
    pub runs: i64,
    /// Number of runs that failed or timed out.
    pub failed: i64,
    /// Number of runs that have not settled.
    pub live: i64,
    /// The first begin of a run.
    pub begun: Timestamp,
    /// The last end of a run.
    pub ended: Timestamp,
}

/// The fires of a schedule with one verdict in a step of the range, none of which has a run.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct LaneMark {
    /// The schedule.
    pub schedule_id: Uuid,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason that comes first in the alphabet.
    pub reason: Reason,
    /// Number of different reasons.
    pub reasons: i64,
    /// Number of instants.
    pub fires: i64,
    /// Number of rows of the ledger.
    pub rows: i64,
    /// The first instant.
    pub first_at: Timestamp,
    /// The last instant.
    pub last_at: Timestamp,
}

/// What a schedule did in the range.
#[derive(Clone, Debug, Default)]
pub struct LaneHistory {
    /// The runs, oldest first; empty if there are too many.
    pub runs: Vec<LaneRun>,
    /// The same runs counted, if there are too many.
    pub steps: Vec<RunStep>,
    /// The fires without a run, oldest first.
    pub marks: Vec<LaneMark>,
    /// Whether everything was read. If not, the oldest runs and fires are left out.
    pub is_complete: bool,
}

impl LaneHistory {
    /// A history without runs and fires.
    pub fn complete() -> Self {
        Self { is_complete: true, ..Self::default() }
    }
}

/// What these schedules did in the range. Schedules that did nothing are left out.
pub async fn histories(
    store: &Store,
    schedules: &[Uuid],
    range: &TimelineRange,
) -> Result<HashMap<Uuid, LaneHistory>, StoreError> {
    let mut found: HashMap<Uuid, LaneHistory> = HashMap::new();
    if schedules.is_empty() || !range.has_past() {
        return Ok(found);
    }
    let newest = newest(store, schedules, range).await?;
    let older = older(store, schedules, range).await?;
    for run in newest.into_iter().chain(older) {
        found.entry(run.schedule_id).or_default().runs.push(run);
    }
    let is_crowded = |(id, one): (&Uuid, &LaneHistory)| (one.runs.len() > MAX_RUNS).then_some(*id);
    let crowded: Vec<Uuid> = found.iter().filter_map(is_crowded).collect();
    let max_runs = MAX_COUNTED / crowded.len().max(1);
    for step in steps(store, &crowded, range, max_runs).await? {
        found.entry(step.schedule_id).or_default().steps.push(step);
    }
    let max_fires = MAX_COUNTED / schedules.len();
    for mark in marks(store, schedules, range, max_fires).await? {
        found.entry(mark.schedule_id).or_default().marks.push(mark);
    }
    for (id, one) in &mut found {
        if crowded.contains(id) {
            count_older(one, *id, range);
        }
        one.runs.sort_by_key(|run| (run.started_at.unwrap_or(run.created_at), run.id));
        one.steps.sort_by_key(|step| step.step);
        one.marks.sort_by_key(|mark| mark.first_at);
        // Each fire has a run or a mark, so this also tells whether fires were left out.
        let runs: i64 = one.steps.iter().map(|step| step.runs).sum();
        let rows: i64 = one.marks.iter().map(|mark| mark.rows).sum();
        let limit = max_runs.min(max_fires);
        one.is_complete = usize::try_from(runs + rows).is_ok_and(|read| read < limit);
    }
    Ok(found)
}

/// Counts the live runs from more than a day before the range, which `steps` does not read, in the
/// first step. All runs of the lane are then in its steps.
fn count_older(one: &mut LaneHistory, schedule_id: Uuid, range: &TimelineRange) {
    let before = range.from.0.saturating_sub(DAY_MS);
    let runs = std::mem::take(&mut one.runs);
    let older = runs.iter().filter(|run| run.created_at.0 < before).count();
    let older = i64::try_from(older).unwrap_or(i64::MAX);
    if older == 0 {
        return;
    }
    let (begun, ended) = (range.from, range.now);
    match one.steps.iter_mut().find(|step| step.step == 0) {
        Some(first) => {
            first.runs += older;
            first.live += older;
            first.begun = begun;
            first.ended = first.ended.max(ended);
        }
        None => {
            let (step, runs, failed, live) = (0, older, 0, older);
            one.steps.push(RunStep { schedule_id, step, runs, failed, live, begun, ended });
        }
    }
}

/// The newest runs of each schedule that were alive at some time in the range and were created at
/// most a day before it.
async fn newest(
    store: &Store,
    schedules: &[Uuid],
    range: &TimelineRange,
) -> Result<Vec<LaneRun>, StoreError> {
    let which = "run.schedule_id = v.id AND run.id >= {0} AND run.id < {1} \
        AND coalesce(run.finished_at, {2}) >= {2}";
    let sql = run_rows(store, which, "run.id DESC", "{3}");
    let limit = i64::try_from(MAX_RUNS + 1).unwrap_or(i64::MAX);
    let values = vec![
        first_key(range.from.0.saturating_sub(DAY_MS)).into(),
        first_key(range.until.0).into(),
        range.from.0.into(),
        limit.into(),
    ];
    let bulk = BulkValues::default().uuid("id", schedules.iter().copied());
    store.found(bulk.statement(store.dialect(), &sql, values), true).await
}

/// The live runs of each schedule that were created more than a day before the range.
async fn older(
    store: &Store,
    schedules: &[Uuid],
    range: &TimelineRange,
) -> Result<Vec<LaneRun>, StoreError> {
    // By the time of creation, so that the index on live runs is used.
    let which =
        format!("run.schedule_id = v.id AND {} AND run.created_at < {{0}}", alive_in(store, range));
    let sql = run_rows(store, &which, "run.created_at DESC", "{1}");
    let before = range.from.0.saturating_sub(DAY_MS);
    let values = vec![before.into(), MAX_OLDER.into()];
    let bulk = BulkValues::default().uuid("id", schedules.iter().copied());
    store.found(bulk.statement(store.dialect(), &sql, values), true).await
}

fn run_rows(store: &Store, which: &str, order: &str, limit: &str) -> String {
    let rows = store.dialect().newest_of_each("run", which, order, limit);
    format!(
        "SELECT run.id, run.schedule_id, run.state, run.fire_id, run.scheduled_at, \
           run.created_at, run.started_at, run.finished_at FROM v {rows}"
    )
}

/// The newest `limit` runs of each schedule, counted by the step of the range in which they began.
/// Runs that began before the range count in its first step.
async fn steps(
    store: &Store,
    schedules: &[Uuid],
    range: &TimelineRange,
    limit: usize,
) -> Result<Vec<RunStep>, StoreError> {
    if schedules.is_empty() {
        return Ok(Vec::new());
    }
    let which = "run.schedule_id = v.id AND run.id >= {0} AND run.id < {1} \
        AND coalesce(run.finished_at, {2}) >= {2}";
    let rows = store.dialect().newest_of_each("run", which, "run.id DESC", "{3}");
    let sql = format!(
        "SELECT s.schedule_id, s.step, count(*) AS runs, \
           count(CASE WHEN s.state IN ('failed', 'timed_out') THEN 1 END) AS failed, \
           count(CASE WHEN s.state IN ('queued', 'running', 'retrying') THEN 1 END) AS live, \
           min(s.begun) AS begun, max(s.ended) AS ended \
         FROM (SELECT b.schedule_id, b.state, b.begun, b.ended, (b.begun - {{2}}) / {{4}} AS step \
           FROM (SELECT run.schedule_id, run.state, coalesce(run.finished_at, {{5}}) AS ended, \
               CASE WHEN coalesce(run.started_at, run.created_at) < {{2}} THEN {{2}} \
                 ELSE coalesce(run.started_at, run.created_at) END AS begun \
             FROM v {rows}) b) s \
         GROUP BY s.schedule_id, s.step"
    );
    let values = vec![
        first_key(range.from.0.saturating_sub(DAY_MS)).into(),
        first_key(range.until.0).into(),
        range.from.0.into(),
        i64::try_from(limit).unwrap_or(i64::MAX).into(),
        range.step_ms().into(),
        range.now.0.into(),
    ];
    let bulk = BulkValues::default().uuid("id", schedules.iter().copied());
    store.found(bulk.statement(store.dialect(), &sql, values), true).await
}

/// The fires without a run among the newest `limit` fires of each schedule, counted by verdict and
/// by the step of the range; and the rows that begin before the range and end in it.
async fn marks(
    store: &Store,
    schedules: &[Uuid],
    range: &TimelineRange,
    limit: usize,
) -> Result<Vec<LaneMark>, StoreError> {
    let sql = |rows: &str, condition: &str| {
        format!(
            "SELECT m.schedule_id, m.verdict, m.step, CAST(sum(m.count) AS bigint) AS fires, \
               min(m.scheduled_at) AS first_at, max(m.last_scheduled_at) AS last_at, \
               min(m.reason) AS reason, count(DISTINCT m.reason) AS reasons, count(*) AS rows \
             FROM (SELECT fire.schedule_id, fire.verdict, fire.reason, fire.count, \
                 fire.scheduled_at, fire.last_scheduled_at, \
                 (fire.scheduled_at - {{0}}) / {{1}} AS step \
               FROM v {rows} WHERE {UNRUN} AND {condition}) m \
             GROUP BY m.schedule_id, m.verdict, m.step"
        )
    };
    let newest_of = |which: &str| {
        store.dialect().newest_of_each("fire", which, "fire.scheduled_at DESC", "{3}")
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let within = "fire.schedule_id = v.id AND fire.scheduled_at >= {0} AND fire.scheduled_at < {2}";
    let before = "fire.schedule_id = v.id AND fire.count > 1 AND fire.scheduled_at < {2}";
    let mut found = Vec::new();
    for (which, condition, until, limit) in [
        (within, "fire.scheduled_at >= {0}", range.until, limit),
        (before, "fire.last_scheduled_at >= {0}", range.from, MAX_OLDER),
    ] {
        let values =
            vec![range.from.0.into(), range.step_ms().into(), until.0.into(), limit.into()];
        let bulk = BulkValues::default().uuid("id", schedules.iter().copied());
        let statement = bulk.statement(store.dialect(), &sql(&newest_of(which), condition), values);
        let rows: Vec<LaneMark> = store.found(statement, true).await?;
        found.extend(rows);
    }
    Ok(found)
}
