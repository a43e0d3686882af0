//! Counts ended runs, and fires without a run, for each step of a chart: for the schedules with a
//! tag, or for one schedule. Roll-ups are kept by namespace, so the runs and fires themselves are
//! read here: the newest ones up to a limit, and within the time limit of searches.

use std::collections::BTreeMap;

use entity::{
    Timestamp,
    fire::{self, Verdict},
    run::{self, State},
    schedule,
};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait,
    sea_query::{Expr, SelectStatement},
};
use uuid::Uuid;

use super::within::Within;
use crate::store::{
    Store, StoreError,
    counts::Rollup,
    days::{DAY_MS, first_key},
    stats::SettledRun,
};

/// Maximum number of runs, and of fires, that are read.
pub const MAX_READ: u64 = 50_000;

/// The schedules that a chart covers.
#[derive(Clone, Debug)]
pub struct ChartSubject {
    /// The namespaces of the schedules.
    pub within: Within,
    /// Only schedules with this tag, if it is set.
    pub tag: Option<String>,
    /// Only this schedule, if it is set.
    pub schedule: Option<Uuid>,
}

/// The totals of each step of a chart.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The steps with their numbers from 0, in ascending order. Steps without events are left out.
    pub steps: Vec<(i64, Rollup)>,
    /// Whether all runs and fires were read.
    pub is_complete: bool,
}

impl ChartSubject {
    /// Whether the chart covers all schedules of the namespaces.
    pub fn is_whole(&self) -> bool {
        self.tag.is_none() && self.schedule.is_none()
    }

    fn schedules(&self, store: &Store) -> SelectStatement {
        let placeholder = if store.dialect().is_postgres() { "$1" } else { "?" };
        schedule::Entity::find()
            .select_only()
            .column(schedule::Column::Id)
            .filter(self.within.holds(schedule::Column::NamespaceId))
            .apply_if(self.schedule, |query, id| query.filter(schedule::Column::Id.eq(id)))
            .apply_if(self.tag.clone(), |query, tag| {
                let has = store.dialect().list_has("schedule.tags", placeholder);
                query.filter(Expr::cust_with_values(has, [tag]))
            })
            .into_query()
    }
}

/// The totals from `from` up to `until`, in steps of this many milliseconds.
pub async fn steps(
    store: &Store,
    of: &ChartSubject,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Series, StoreError> {
    let runs = settled(store, of, from, until).await?;
    let fires = unrun(store, of, from, until).await?;
    let is_all = |count: usize| u64::try_from(count).is_ok_and(|count| count < MAX_READ);
    let is_complete = is_all(runs.len()) && is_all(fires.len());
    let step = |at: Timestamp| (at.0 - from.0).div_euclid(step_ms.max(1));
    let mut steps: BTreeMap<i64, Rollup> = BTreeMap::new();
    for run in &runs {
        steps.entry(step(run.finished_at)).or_default().add(run);
    }
    for fire in fires {
        let counts = &mut steps.entry(step(fire.decided_at)).or_default().counts;
        match fire.verdict {
            Verdict::Skipped => counts.skipped += fire.count,
            Verdict::Missed => counts.missed += fire.count,
            Verdict::Abandoned => counts.abandoned += fire.count,
            Verdict::Pending | Verdict::Started | Verdict::Collapsed => {}
        }
    }
    Ok(Series { steps: steps.into_iter().collect(), is_complete })
}

/// The runs that ended in the period and were created at most a day before it.
async fn settled(
    store: &Store,
    of: &ChartSubject,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<SettledRun>, StoreError> {
    use run::Column as C;
    let query = run::Entity::find()
        .select_only()
        .columns([
            C::Id,
            C::Changed,
            C::NamespaceId,
            C::State,
            C::Trigger,
            C::IsRecovery,
            C::DueAt,
            C::CreatedAt,
            C::StartedAt,
            C::FinishedAt,
        ])
        .filter(C::ScheduleId.in_subquery(of.schedules(store)))
        .filter(C::Id.gte(first_key(from.0.saturating_sub(DAY_MS))))
        .filter(C::Id.lt(first_key(until.0)))
        .filter(C::FinishedAt.gte(from))
        .filter(C::FinishedAt.lt(until))
        .filter(C::State.is_not_in([State::Queued, State::Running, State::Retrying]))
        .order_by_desc(C::Id)
        .limit(MAX_READ);
    store.found(query.build(store.dialect().backend()), true).await
}

/// A fire that has no run.
#[derive(FromQueryResult)]
struct UnrunFire {
    verdict: Verdict,
    decided_at: Timestamp,
    count: i64,
}

/// The fires that were decided in the period, have no run, and were
/// scheduled at most a day before the period.
async fn unrun(
    store: &Store,
    of: &ChartSubject,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<UnrunFire>, StoreError> {
    use fire::Column as C;
    let query = fire::Entity::find()
        .select_only()
        .columns([C::Verdict, C::DecidedAt, C::Count])
        .filter(C::ScheduleId.in_subquery(of.schedules(store)))
        .filter(C::ScheduledAt.gte(Timestamp(from.0.saturating_sub(DAY_MS))))
        .filter(C::DecidedAt.gte(from))
        .filter(C::DecidedAt.lt(until))
        .filter(C::Verdict.is_in([Verdict::Skipped, Verdict::Missed, Verdict::Abandoned]))
        // An abandoned run is left out here, because it counts as a run that ended.
        .filter(Condition::any().add(C::Verdict.ne(Verdict::Abandoned)).add(C::RunId.is_null()))
        .order_by_desc(C::ScheduledAt)
        .limit(MAX_READ);
    store.found(query.build(store.dialect().backend()), true).await
}
