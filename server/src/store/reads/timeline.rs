//! Lists the schedules that have something in a range of time, and reads when their runs were
//! executed. `lane_history` reads what each schedule did.

use entity::{
    Timestamp, fire, run,
    schedule::{self, Column, Model},
};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, FromQueryResult, Order, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, Select,
    sea_query::{Expr, SimpleExpr},
};
use uuid::Uuid;

use super::{
    schedules::{self, matching, page_of},
    sorted::{self, Sorted},
    within::Within,
};
use crate::store::{
    Page, PageWindow, Store, StoreError, Total,
    days::{DAY_MS, first_key},
};

/// In how many steps the range is divided where runs and fires are counted.
pub const STEPS: i64 = 120;
/// Maximum number of executions that are read to determine how many there were at once.
pub const MAX_EXECUTIONS: u64 = 50_000;

/// A range of time, and the instant up to which there is history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineRange {
    /// The start of the range, inclusive.
    pub from: Timestamp,
    /// The end of the range, exclusive.
    pub until: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

impl TimelineRange {
    /// Whether a part of the range is in the past.
    pub fn has_past(&self) -> bool {
        self.from <= self.now
    }

    /// Whether a part of the range is in the future.
    pub fn has_future(&self) -> bool {
        self.until > self.now
    }

    /// The length of a step, in milliseconds.
    pub fn step_ms(&self) -> i64 {
        (self.until.0 - self.from.0).div_euclid(STEPS).max(1)
    }
}

/// A page of the schedules that have something in the range, sorted by name.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &schedules::Filter,
    range: &TimelineRange,
    window: &PageWindow<schedules::Key>,
) -> Result<Page<Model>, StoreError> {
    // Schedules that have nothing in the range are passed over, and there may be many of them, so
    // the time limit of searches applies.
    let list = occurring(store, within, filter, range);
    page_of(store, list, Order::Asc, true, window).await
}

/// A page of the schedules that have something in the range, with their numbers of runs, those with
/// the most runs first.
pub async fn page_by_runs(
    store: &Store,
    within: &Within,
    filter: &schedules::Filter,
    range: &TimelineRange,
    window: &PageWindow<sorted::Key>,
) -> Result<Page<sorted::Key>, StoreError> {
    #[derive(FromQueryResult)]
    struct BusyRow {
        id: Uuid,
        number: i64,
    }
    let list = occurring(store, within, filter, range);
    let created = of_schedule(range.from, range.until)
        .select_only()
        .expr(Expr::cust("count(*)"))
        .into_query();
    let number = SimpleExpr::from(created);
    let id = Expr::col((schedule::Entity, Column::Id));
    let query = Sorted::by(number.clone(), id, true)
        .rows(list.clone(), window)
        .select_only()
        .column(Column::Id)
        .column_as(number, "number");
    let rows: Vec<BusyRow> = store.found(query.build(store.dialect().backend()), true).await?;
    let keys = rows.into_iter().map(|row| (row.number, row.id)).collect();
    Ok(window.page(keys).counted(|| Total::of(list, true)))
}

/// The schedules that match the filter and have something in the range: a run, a fire without a
/// run, or an instant to come.
fn occurring(
    store: &Store,
    within: &Within,
    filter: &schedules::Filter,
    range: &TimelineRange,
) -> Select<schedule::Entity> {
    let TimelineRange { from, until, .. } = *range;
    let mut any = Condition::any();
    if range.has_past() {
        let ended_later = Condition::any()
            .add(run::Column::FinishedAt.is_null())
            .add(run::Column::FinishedAt.gte(from));
        let earlier =
            of_schedule(Timestamp(from.0.saturating_sub(DAY_MS)), from).filter(ended_later);
        // By the time of creation, so that the index on live runs is used.
        let live = run::Entity::find()
            .select_only()
            .column(run::Column::Id)
            .filter(Expr::cust("run.schedule_id = schedule.id"))
            .filter(Expr::cust(alive_in(store, range)))
            .filter(run::Column::CreatedAt.lt(from));
        let fires = unrun()
            .filter(fire::Column::ScheduledAt.gte(from))
            .filter(fire::Column::ScheduledAt.lt(until));
        let ranges = unrun()
            .filter(Expr::cust("fire.count > 1"))
            .filter(fire::Column::ScheduledAt.lt(from))
            .filter(fire::Column::LastScheduledAt.gte(from));
        // In the order of their costs.
        any = any
            .add(Expr::exists(of_schedule(from, until).into_query()))
            .add(Expr::exists(live.into_query()))
            .add(Expr::exists(ranges.into_query()))
            .add(Expr::exists(earlier.into_query()))
            .add(Expr::exists(fires.into_query()));
    }
    if range.has_future() {
        let next = Condition::all()
            .add(Column::Enabled.eq(true))
            .add(Column::NextScheduledAt.is_not_null())
            .add(Column::NextScheduledAt.lt(until));
        any = any.add(next);
    }
    matching(store, within, filter).filter(any)
}

/// The condition that a run is live, with the days that can contain live runs.
pub(super) fn alive_in(store: &Store, range: &TimelineRange) -> String {
    let days = store.dialect().live_runs("run.id", range.now);
    format!("run.state IN ('queued', 'running', 'retrying'){days}")
}

/// The runs of the schedule in the outer query that were created from `from` up to `until`.
fn of_schedule(from: Timestamp, until: Timestamp) -> Select<run::Entity> {
    run::Entity::find()
        .select_only()
        .column(run::Column::Id)
        .filter(Expr::cust("run.schedule_id = schedule.id"))
        .filter(run::Column::Id.gte(first_key(from.0)))
        .filter(run::Column::Id.lt(first_key(until.0)))
}

/// The fires without a run of the schedule in the outer query.
fn unrun() -> Select<fire::Entity> {
    fire::Entity::find()
        .select_only()
        .column(fire::Column::Id)
        .filter(Expr::cust("fire.schedule_id = schedule.id"))
        .filter(Expr::cust(UNRUN))
}

/// The condition that a fire has no run. An abandoned fire with a run counts as that run.
pub(super) const UNRUN: &str = "(fire.verdict IN ('skipped', 'missed', 'collapsed') \
    OR (fire.verdict = 'abandoned' AND fire.run_id IS NULL))";

/// When a run was executed: from the start of its first attempt to its end, if it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Execution {
    /// When the first attempt started.
    pub started_at: Timestamp,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
}

/// The executions in the range of the runs of these schedules, the last created first: at most
/// [`MAX_EXECUTIONS`]. Runs that were created more than a day before the range are left out.
pub async fn executions(
    store: &Store,
    within: &Within,
    filter: &schedules::Filter,
    range: &TimelineRange,
) -> Result<Vec<Execution>, StoreError> {
    use run::Column as C;
    let schedules = matching(store, within, filter).select_only().column(Column::Id).into_query();
    let query = run::Entity::find()
        .select_only()
        .columns([C::StartedAt, C::FinishedAt])
        .filter(C::ScheduleId.in_subquery(schedules))
        .filter(C::Id.gte(first_key(range.from.0.saturating_sub(DAY_MS))))
        .filter(C::Id.lt(first_key(range.until.0)))
        .filter(C::StartedAt.lt(range.until))
        .filter(Condition::any().add(C::FinishedAt.is_null()).add(C::FinishedAt.gte(range.from)))
        .order_by_desc(C::Id)
        .limit(MAX_EXECUTIONS);
    store.found(query.build(store.dialect().backend()), true).await
}
