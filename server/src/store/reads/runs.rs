//! Runs, newest first. Keys are UUID v7, so the order of the keys is the order of creation.

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
    search::Sought,
    sorted::{self, Sorted, no_number},
    within::Within,
};
use crate::store::{Page, Store, StoreError, Total, Window};

/// Which runs. What is None does not narrow.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// They are in one of these states.
    pub states: Option<Vec<State>>,
    /// They are of this schedule.
    pub schedule_id: Option<Uuid>,
    /// They will still change, or not.
    pub live: Option<bool>,
    /// They stand for this instant or a later one.
    pub after: Option<Timestamp>,
    /// They stand for an earlier instant.
    pub before: Option<Timestamp>,
    /// They are what somebody seeks.
    pub search: Option<Sought>,
}

/// The states of runs that will still change.
pub const LIVE: [State; 3] = [State::Queued, State::Running, State::Retrying];

/// The states of runs that ended as nobody wanted.
const ENDED_BADLY: [State; 3] = [State::Failed, State::TimedOut, State::Cancelled];

/// That a run ended so, in the words of the index over such runs: another wording does not use it.
pub(super) fn ended_badly() -> SimpleExpr {
    Expr::cust("run.state IN ('failed', 'timed_out', 'cancelled')")
}

impl Filter {
    /// Whether all runs that it leaves are alive.
    fn is_of_live(&self) -> bool {
        let are_live = |states: &Vec<State>| states.iter().all(|state| LIVE.contains(state));
        self.live == Some(true)
            || self.states.as_ref().is_some_and(are_live)
            || self.search.as_ref().is_some_and(Sought::is_of_live_runs)
    }

    /// The key by which runs are ordered. Where they are alive, few of all, SQLite is not to look
    /// through the index over the keys of all runs: an expression is in no index.
    fn key(&self, store: &Store) -> SimpleExpr {
        if self.is_of_live() && !store.dialect().is_postgres() {
            Expr::cust("+run.id")
        } else {
            Column::Id.into_simple_expr()
        }
    }
}

/// That a run is alive, in the words of the indexes over such runs.
pub(super) fn alive() -> SimpleExpr {
    Expr::cust("run.state IN ('queued', 'running', 'retrying')")
}

/// A page of their runs.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &Filter,
    window: &Window<Uuid>,
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

/// A figure that runs are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByFigure {
    /// Their first start.
    Started,
    /// From start to end, of those that have ended.
    Duration,
}

/// The number of runs that are sorted by a figure at the most: the newest.
const MAX_SORTED: u64 = 10_000;

impl ByFigure {
    /// The key of a run in a list that is sorted so.
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

/// A page of their runs, sorted by a figure: of the newest `MAX_SORTED` that match.
pub async fn page_by_figure(
    store: &Store,
    within: &Within,
    filter: &Filter,
    by: ByFigure,
    descending: bool,
    window: &Window<sorted::Key>,
) -> Result<Page<Model>, StoreError> {
    let list = matching(store, within, filter);
    let newest = list.clone().order_by(filter.key(store), Order::Desc).limit(MAX_SORTED);
    let sorted = Sorted::by(by.number(), Expr::col((Entity, Column::Id)), descending);
    let mut query = sorted.rows(Entity::find(), window).into_query();
    query.from_clear().from_subquery(newest.into_query(), Entity);
    // All of them are read before the first is known.
    let rows = store.found(store.dialect().backend().build(&query), true).await?;
    Ok(window.page(rows).counted(|| Total::of(list, filter.search.is_some())))
}

/// The keys of their runs, newest first, at most `most` of them.
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
            // Among the runs of one schedule they are looked for as they are: SQLite, which has no
            // statistics, would go through those of all others.
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

/// The run of that key.
pub async fn by_id(store: &Store, id: Uuid) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(store.read()).await?)
}
