//! Finds schedules that fail, lose fires or skip them for load: recent failures, grouped by
//! schedule and error.

use std::{
    cmp::Reverse,
    collections::{HashMap, hash_map::Entry},
};

use entity::{
    Timestamp,
    fire::{self, Reason},
    run,
};
use sea_orm::{
    ActiveEnum, ColumnTrait, Condition, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait,
    sea_query::{Expr, Query},
};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

pub use super::recovered::{over, over_since};
use super::{runs::ended_badly, skipped::SKIPPED_FOR_LOAD, within::Within};
use crate::store::{Store, StoreError, db::bulk::BulkValues};

/// Maximum number of runs, and of fires, that are examined: the newest ones.
pub const MAX_LOOKED_AT: u64 = 2_000;
/// Maximum number of rows of skipped fires that are counted: the newest ones.
const MAX_SKIPPED: u64 = 100_000;
/// A schedule that skips fewer fires, or a smaller share of those that were due, has no problem.
const MIN_SKIPPED: i64 = 3;
const ONE_IN: i64 = 100;
/// Maximum number of schedules whose due fires are counted: those that skip most.
const MAX_SKIPPING: usize = 20;
/// Maximum number of rows of a schedule's due fires that are counted: a fire a minute for a day.
const MAX_EXPECTED: i64 = 1_500;
/// Number of characters of an error that are compared.
const COMPARED: i32 = 500;

/// The runs of a schedule that failed with the same first line of the error, or the fires of a
/// schedule that were lost or skipped for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemGroup {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The common cause of the runs or fires.
    pub what: FailureCause,
    /// Number of runs or instants.
    pub count: i64,
    /// When the first failure of the group occurred.
    pub since: Timestamp,
    /// When the last failure of the group occurred.
    pub last: Timestamp,
}

/// The common cause of the failures in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// Runs have failed or timed out.
    Failing {
        /// The first line of the error.
        error: String,
        /// The last of these runs.
        last_run: Uuid,
    },
    /// Fires have been missed or abandoned.
    Losing {
        /// The reason that the ledger gives.
        reason: Reason,
    },
    /// Fires have been skipped for load.
    Skipping {
        /// The reason that the ledger gives.
        reason: Reason,
        /// Number of instants at which the schedule was due; `None` if they were not counted,
        /// because there are too many.
        expected: Option<i64>,
    },
}

impl ProblemGroup {
    /// A key for the schedule and the common cause of its failures.
    /// It stays the same as long as the cause does, and reveals nothing about the error.
    pub fn key(&self) -> Uuid {
        let (kind, text) = match &self.what {
            FailureCause::Failing { error, .. } => ("failing", error.clone()),
            FailureCause::Losing { reason } => ("losing", reason.to_value()),
            FailureCause::Skipping { reason, .. } => ("skipping", reason.to_value()),
        };
        let mut hash = Sha256::new();
        for part in [self.schedule_id.as_bytes(), kind.as_bytes(), text.as_bytes()] {
            hash.update(part);
            hash.update([0]);
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
        Builder::from_custom_bytes(bytes).into_uuid()
    }
}

/// The problems that have occurred since an instant, latest first.
pub async fn since(
    store: &Store,
    within: &Within,
    since: Timestamp,
) -> Result<Vec<ProblemGroup>, StoreError> {
    let mut all = failing(store, within, since).await?;
    all.extend(losing(store, within, since).await?);
    let skipped = skipping(store, within, since).await?;
    all.extend(noteworthy(store, skipped, since).await?);
    all.sort_by_key(|one| (Reverse(one.last), one.schedule_id));
    Ok(all)
}

/// All groups of failures since an instant, in no order: also fires that were skipped for load in
/// too small a number to be a problem of this range. They may be one of a shorter range.
pub async fn groups_since(
    store: &Store,
    within: &Within,
    since: Timestamp,
) -> Result<Vec<ProblemGroup>, StoreError> {
    let mut all = failing(store, within, since).await?;
    all.extend(losing(store, within, since).await?);
    all.extend(skipping(store, within, since).await?);
    Ok(all)
}

async fn failing(
    store: &Store,
    within: &Within,
    since: Timestamp,
) -> Result<Vec<ProblemGroup>, StoreError> {
    use run::{Column, State};
    #[derive(FromQueryResult)]
    struct FailedRun {
        id: Uuid,
        schedule_id: Uuid,
        state: State,
        error: Option<String>,
        finished_at: Timestamp,
    }
    let error = Expr::cust(format!("substr(run.error, 1, {COMPARED})"));
    let newest = run::Entity::find()
        .select_only()
        .columns([Column::Id, Column::ScheduleId, Column::State, Column::FinishedAt])
        .expr_as(error, "error")
        .filter(within.holds_each(Column::NamespaceId))
        .filter(ended_badly())
        .filter(Column::State.is_in([State::Failed, State::TimedOut]))
        .filter(Column::FinishedAt.gte(since))
        .filter(Column::ScheduleId.is_not_null())
        .order_by_desc(Column::FinishedAt)
        .limit(MAX_LOOKED_AT);
    let rows: Vec<FailedRun> = store.found(newest.build(store.dialect().backend()), true).await?;
    let mut groups: HashMap<(Uuid, String), ProblemGroup> = HashMap::new();
    // The latest row of a group comes first, so it determines when the last failure occurred.
    for row in rows {
        let unsaid = if row.state == State::TimedOut { "timed out" } else { "failed" };
        let error = row.error.unwrap_or_default();
        let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(unsaid);
        match groups.entry((row.schedule_id, line.to_owned())) {
            Entry::Occupied(mut group) => {
                let group = group.get_mut();
                group.count += 1;
                group.since = row.finished_at;
                // The run of an older fire may fail later, but it is not the last of these runs:
                // the problem is over only when one after all of them succeeds.
                if let FailureCause::Failing { last_run, .. } = &mut group.what {
                    *last_run = row.id.max(*last_run);
                }
            }
            Entry::Vacant(place) => {
                place.insert(ProblemGroup {
                    schedule_id: row.schedule_id,
                    what: FailureCause::Failing { error: line.to_owned(), last_run: row.id },
                    count: 1,
                    since: row.finished_at,
                    last: row.finished_at,
                });
            }
        }
    }
    Ok(groups.into_values().collect())
}

/// The condition that a fire belongs to these namespaces, for a query that finds few fires.
fn of_few_in(store: &Store, within: &Within) -> Condition {
    use sea_orm::sea_query::ExprTrait;
    let column = Expr::cust(store.dialect().of_few("fire.namespace_id"));
    Condition::all().add(column.in_subquery(within.keys()))
}

async fn losing(
    store: &Store,
    within: &Within,
    since: Timestamp,
) -> Result<Vec<ProblemGroup>, StoreError> {
    use fire::Column;
    #[derive(FromQueryResult)]
    struct LostFires {
        schedule_id: Uuid,
        reason: Reason,
        scheduled_at: Timestamp,
        last_scheduled_at: Timestamp,
        count: i64,
    }
    let newest = fire::Entity::find()
        .select_only()
        .columns([
            Column::ScheduleId,
            Column::Reason,
            Column::ScheduledAt,
            Column::LastScheduledAt,
            Column::Count,
        ])
        .filter(of_few_in(store, within))
        // The index on lost fires is used only if this is worded exactly like its condition.
        .filter(Expr::cust("fire.verdict IN ('missed', 'abandoned')"))
        .filter(Column::DecidedAt.gte(since))
        .order_by_desc(Column::DecidedAt)
        .limit(MAX_LOOKED_AT);
    let rows: Vec<LostFires> = store.found(newest.build(store.dialect().backend()), true).await?;
    let mut groups: HashMap<(Uuid, Reason), ProblemGroup> = HashMap::new();
    for row in rows {
        let group = groups.entry((row.schedule_id, row.reason)).or_insert_with(|| ProblemGroup {
            schedule_id: row.schedule_id,
            what: FailureCause::Losing { reason: row.reason },
            count: 0,
            since: row.scheduled_at,
            last: row.last_scheduled_at,
        });
        group.count += row.count;
        group.since = group.since.min(row.scheduled_at);
        group.last = group.last.max(row.last_scheduled_at);
    }
    Ok(groups.into_values().collect())
}

/// The fires that were skipped for load, by schedule and reason.
async fn skipping(
    store: &Store,
    within: &Within,
    since: Timestamp,
) -> Result<Vec<ProblemGroup>, StoreError> {
    use fire::Column;
    #[derive(FromQueryResult)]
    struct SkippedFires {
        schedule_id: Uuid,
        reason: Reason,
        fires: i64,
        first_at: Timestamp,
        last_at: Timestamp,
    }
    let newest = fire::Entity::find()
        .select_only()
        .columns([Column::ScheduleId, Column::Reason, Column::Count, Column::DecidedAt])
        .filter(of_few_in(store, within))
        .filter(Expr::cust(SKIPPED_FOR_LOAD))
        .filter(Column::DecidedAt.gte(since))
        .order_by_desc(Column::DecidedAt)
        .limit(MAX_SKIPPED);
    let mut query = Query::select();
    query
        .columns(["schedule_id", "reason"])
        .expr_as(Expr::cust("CAST(sum(count) AS bigint)"), "fires")
        .expr_as(Expr::cust("min(decided_at)"), "first_at")
        .expr_as(Expr::cust("max(decided_at)"), "last_at")
        .from_subquery(newest.into_query(), "newest")
        .group_by_columns(["schedule_id", "reason"]);
    let rows: Vec<SkippedFires> =
        store.found(store.dialect().backend().build(&query), true).await?;
    let group = |row: SkippedFires| ProblemGroup {
        schedule_id: row.schedule_id,
        what: FailureCause::Skipping { reason: row.reason, expected: None },
        count: row.fires,
        since: row.first_at,
        last: row.last_at,
    };
    Ok(rows.into_iter().map(group).collect())
}

/// Those groups of skipped fires that are problems, with the number of instants at which their
/// schedules were due.
async fn noteworthy(
    store: &Store,
    groups: Vec<ProblemGroup>,
    since: Timestamp,
) -> Result<Vec<ProblemGroup>, StoreError> {
    let mut skipped: HashMap<Uuid, i64> = HashMap::new();
    for group in &groups {
        *skipped.entry(group.schedule_id).or_default() += group.count;
    }
    let mut most: Vec<(Uuid, i64)> =
        skipped.into_iter().filter(|(_, fires)| *fires >= MIN_SKIPPED).collect();
    most.sort_by_key(|(schedule, fires)| (Reverse(*fires), *schedule));
    most.truncate(MAX_SKIPPING);
    let schedules: Vec<Uuid> = most.iter().map(|(schedule, _)| *schedule).collect();
    let mut expected = expected(store, &schedules, since).await?;
    for (schedule, fires) in most {
        // Fires that were due before the range may have been skipped within it.
        let due = expected.get(&schedule).copied().flatten().map(|due| due.max(fires));
        if fires.saturating_mul(ONE_IN) < due.unwrap_or(MAX_EXPECTED) {
            expected.remove(&schedule);
        } else {
            expected.insert(schedule, due);
        }
    }
    let counted = |group: ProblemGroup| {
        let expected = *expected.get(&group.schedule_id)?;
        let FailureCause::Skipping { reason, .. } = group.what else { return None };
        Some(ProblemGroup { what: FailureCause::Skipping { reason, expected }, ..group })
    };
    Ok(groups.into_iter().filter_map(counted).collect())
}

/// The number of instants at which each schedule was due since then; `None` if they have more than
/// `MAX_EXPECTED` rows.
async fn expected(
    store: &Store,
    schedules: &[Uuid],
    since: Timestamp,
) -> Result<HashMap<Uuid, Option<i64>>, StoreError> {
    #[derive(FromQueryResult)]
    struct DueFires {
        id: Uuid,
        expected: Option<i64>,
    }
    if schedules.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "SELECT v.id, (SELECT CASE WHEN count(*) <= {MAX_EXPECTED} \
             THEN coalesce(CAST(sum(due.count) AS bigint), 0) END \
           FROM (SELECT fire.count FROM fire WHERE fire.schedule_id = v.id \
             AND fire.scheduled_at >= {{0}} LIMIT {MAX_EXPECTED} + 1) due) AS expected FROM v"
    );
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        &sql,
        vec![since.0.into()],
    );
    let rows: Vec<DueFires> = store.found(statement, true).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.expected)).collect())
}
