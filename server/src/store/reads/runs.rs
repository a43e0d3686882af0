//! Reads runs, newest first. Keys are UUID v7, so runs sort by key in order of creation.

use entity::{
    Timestamp,
    run::{Column, Entity, Model, State},
};
use sea_orm::{
    ColumnTrait, EntityTrait, IntoSimpleExpr, Order, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait, Select,
    sea_query::{Expr, ExprTrait, SimpleExpr},
};
use uuid::Uuid;

use super::{
    search::TimedSearch,
    sorted::{self, Sorted, no_number},
    within::Within,
};
use crate::store::{Page, PageWindow, Store, StoreError, Total};

/// Selects runs. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only runs in one of these states.
    pub states: Option<Vec<State>>,
    /// Only runs of this schedule.
    pub schedule_id: Option<Uuid>,
    /// Only live runs, or only settled ones.
    pub live: Option<bool>,
    /// Only runs for this instant or a later one.
    pub after: Option<Timestamp>,
    /// Only runs for an earlier instant.
    pub before: Option<Timestamp>,
    /// Only runs that match this search.
    pub search: Option<TimedSearch>,
}

/// The states of live runs.
pub const LIVE: [State; 3] = [State::Queued, State::Running, State::Retrying];

/// The states of runs that ended without success.
const ENDED_BADLY: [State; 3] = [State::Failed, State::TimedOut, State::Cancelled];

/// The condition that a run ended without success.
/// The index on such runs is used only if this is worded exactly like its condition.
pub(super) fn ended_badly() -> SimpleExpr {
    Expr::cust("run.state IN ('failed', 'timed_out', 'cancelled')")
}

impl Filter {
    /// Whether the filter selects only live runs.
    fn is_of_live(&self) -> bool {
        let are_live = |states: &Vec<State>| states.iter().all(|state| LIVE.contains(state));
        self.live == Some(true)
            || self.states.as_ref().is_some_and(are_live)
            || self.search.as_ref().is_some_and(TimedSearch::is_of_live_runs)
    }

    /// The key by which runs are sorted. If only live runs are selected, which are few, SQLite must
    /// not scan the key index of all runs. An expression in place of the column prevents that.
    fn key(&self, store: &Store) -> SimpleExpr {
        if self.is_of_live() && !store.dialect().is_postgres() {
            Expr::cust("+run.id")
        } else {
            Column::Id.into_simple_expr()
        }
    }
}

/// The condition that a run is live, worded exactly as in the indexes on such runs.
pub(super) fn alive() -> SimpleExpr {
    Expr::cust("run.state IN ('queued', 'running', 'retrying')")
}

/// A page of the runs that match the filter.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &Filter,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let order = if window.from_end { Order::Asc } else { Order::Desc };
    let key = filter.key(store);
    let list = matching(store, within, filter);
    let query = list
        .clone()
        .apply_if(window.after, |query, id| query.filter(key.clone().lt(id)))
        .apply_if(window.before, |query, id| query.filter(key.clone().gt(id)))
        .order_by(key.clone(), order)
        .limit(window.reach());
    let is_search = filter.search.is_some();
    let rows = store.found(query.build(store.dialect().backend()), is_search);
    Ok(window.page(rows.await?).counted(|| Total::of(list, is_search)))
}

/// A figure by which runs are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByFigure {
    /// The start of the first attempt.
    Started,
    /// The duration from start to end, for runs that have ended.
    Duration,
}

/// Maximum number of runs that are sorted by a figure: the newest ones.
const MAX_SORTED: u64 = 10_000;

impl ByFigure {
    /// The key of a run in a list sorted by this figure.
    pub fn key(self, row: &Model, descending: bool) -> sorted::Key {
        let figure = match self {
            Self::Started => row.started_at.map(|at| at.0),
            Self::Duration => {
                row.finished_at.zip(row.started_at).map(|(end, start)| end.0 - start.0)
            }
        };
        (figure.unwrap_or(no_number(descending)), row.id)
    }

    fn number(self) -> SimpleExpr {
        match self {
            Self::Started => Expr::col((Entity, Column::StartedAt)),
            Self::Duration => Expr::cust("run.finished_at - run.started_at"),
        }
    }
}

/// A page of the newest `MAX_SORTED` runs that match the filter, sorted by a figure.
pub async fn page_by_figure(
    store: &Store,
    within: &Within,
    filter: &Filter,
    by: ByFigure,
    descending: bool,
    window: &PageWindow<sorted::Key>,
) -> Result<Page<Model>, StoreError> {
    let list = matching(store, within, filter);
    let newest = list.clone().order_by(filter.key(store), Order::Desc).limit(MAX_SORTED);
    let sorted = Sorted::by(by.number(), Expr::col((Entity, Column::Id)), descending);
    let mut query = sorted.rows(Entity::find(), window).into_query();
    query.from_clear().from_subquery(newest.into_query(), Entity);
    // All of these runs are read before the first is known, so the time limit of searches applies.
    let rows = store.found(store.dialect().backend().build(&query), true).await?;
    Ok(window.page(rows).counted(|| Total::of(list, filter.search.is_some())))
}

/// The keys of the runs that match the filter, newest first: up to `most`.
pub async fn keys(
    store: &Store,
    within: &Within,
    filter: &Filter,
    most: u64,
) -> Result<Vec<Uuid>, StoreError> {
    let query = matching(store, within, filter)
        .select_only()
        .column(Column::Id)
        .order_by(filter.key(store), Order::Desc)
        .limit(most);
    store.found_keys(query, filter.search.is_some()).await
}

fn matching(store: &Store, within: &Within, filter: &Filter) -> Select<Entity> {
    Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(filter.is_of_live().then(alive), |query, alive| query.filter(alive))
        .apply_if(filter.states.clone(), |query, states| {
            // Among the runs of one schedule, states are compared directly: SQLite has no
            // statistics, and would otherwise scan the runs of all other schedules.
            let is_of_few = filter.schedule_id.is_some() && !store.dialect().is_postgres();
            let ended_so = states.iter().all(|state| ENDED_BADLY.contains(state));
            let query = if ended_so && !is_of_few { query.filter(ended_badly()) } else { query };
            query.filter(Column::State.is_in(states))
        })
        .apply_if(filter.schedule_id, |query, id| query.filter(Column::ScheduleId.eq(id)))
        .apply_if(filter.live, |query, live| {
            if live { query } else { query.filter(Column::State.is_not_in(LIVE)) }
        })
        .apply_if(filter.after, |query, at| query.filter(Column::ScheduledAt.gte(at)))
        .apply_if(filter.before, |query, at| query.filter(Column::ScheduledAt.lt(at)))
        .apply_if(filter.search.as_ref(), |query, sought| {
            query.filter(sought.runs(store.dialect(), within))
        })
}

/// The run with this key.
pub async fn by_id(store: &Store, id: Uuid) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(store.read()).await?)
}
