//! Reads the ledger of one, several or all namespaces, newest first by scheduled time, then by key.
//!
//! A page of one namespace is a scan of the index `fire_ledger`.
//! A page of several namespaces takes the first rows of each in that order and merges them,
//! so it reads at most one page of rows for each namespace. A filter may match few of many rows,
//! so the time limit of searches applies to filtered pages and to totals.

use entity::{
    Timestamp,
    fire::{Column, Entity, Model, Reason, Verdict},
    schedule,
};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, FromQueryResult, IntoSimpleExpr, Order, QueryFilter,
    QueryOrder, QuerySelect, QueryTrait, Select, Statement,
    sea_query::{Alias, Asterisk, Expr, IntoCondition, JoinType, Query},
};
use uuid::Uuid;

use super::{search::TimedSearch, within::Within};
use crate::store::{Page, PageWindow, Store, StoreError, Total};

/// Selects fires. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only fires with one of these verdicts.
    pub verdicts: Option<Vec<Verdict>>,
    /// Only fires with one of these reasons.
    pub reasons: Option<Vec<Reason>>,
    /// Only fires of these schedules.
    pub schedules: Option<Vec<Uuid>>,
    /// Only fires scheduled at this instant or later.
    pub after: Option<Timestamp>,
    /// Only fires scheduled before this instant.
    pub before: Option<Timestamp>,
    /// Only fires of schedules that match this search.
    pub search: Option<TimedSearch>,
}

/// The key of a row in a page: the scheduled time and the fire's key.
pub type Key = (Timestamp, Uuid);

/// Maximum number of rows that totals count: the newest ones.
pub const MAX_COUNTED: u64 = 200_000;

/// The instants in the ledger that share a verdict and a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictGroup {
    /// The verdict of the group's fires.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: Reason,
    /// Number of instants.
    pub count: i64,
}

/// The number of fires that match a filter, by verdict and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The groups of fires, the most frequent first.
    pub groups: Vec<VerdictGroup>,
    /// The instant of the earliest row that was counted; `None` if all rows were counted.
    pub counted_from: Option<Timestamp>,
}

impl Filter {
    /// Whether a query with this filter may skip many rows before a page is full.
    fn is_search(&self) -> bool {
        self.verdicts.is_some()
            || self.reasons.is_some()
            || self.schedules.is_some()
            || self.search.is_some()
    }
}

/// A page of the ledger.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &Filter,
    window: &PageWindow<Key>,
) -> Result<Page<Model>, StoreError> {
    let first = |list: Select<Entity>| ordered(windowed(list, window), window);
    let statement = match within.one() {
        Some(_) => first(matching(store, within, filter)).build(store.dialect().backend()),
        None => merged(store, within, first(matching_in_each(store, within, filter)), window),
    };
    let is_search = filter.is_search();
    let rows = store.found(statement, is_search).await?;
    let list = || Total::of(matching(store, within, filter), is_search);
    Ok(window.page(rows).counted(list))
}

/// The fires that match the filter, counted by verdict and reason.
pub async fn totals(store: &Store, within: &Within, filter: &Filter) -> Result<Totals, StoreError> {
    #[derive(FromQueryResult)]
    struct VerdictRow {
        verdict: Verdict,
        reason: Reason,
        fires: i64,
        rows: i64,
        earliest: Timestamp,
    }
    let newest = matching(store, within, filter)
        .select_only()
        .columns([Column::Verdict, Column::Reason, Column::Count, Column::ScheduledAt])
        .order_by_desc(Column::ScheduledAt)
        .limit(MAX_COUNTED);
    let mut query = Query::select();
    query
        .columns(["verdict", "reason"])
        .expr_as(Expr::cust("CAST(sum(count) AS bigint)"), "fires")
        .expr_as(Expr::cust("count(*)"), "rows")
        .expr_as(Expr::cust("min(scheduled_at)"), "earliest")
        .from_subquery(newest.into_query(), "newest")
        .group_by_columns(["verdict", "reason"]);
    let rows: Vec<VerdictRow> = store.found(store.dialect().backend().build(&query), true).await?;
    let counted: i64 = rows.iter().map(|row| row.rows).sum();
    let is_cut = u64::try_from(counted).is_ok_and(|counted| counted >= MAX_COUNTED);
    let counted_from = rows.iter().map(|row| row.earliest).min().filter(|_| is_cut);
    let group = |row: VerdictRow| VerdictGroup {
        verdict: row.verdict,
        reason: row.reason,
        count: row.fires,
    };
    let mut groups: Vec<_> = rows.into_iter().map(group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(Totals { groups, counted_from })
}

fn matching(store: &Store, within: &Within, filter: &Filter) -> Select<Entity> {
    narrowed(store, within, filter).filter(within.holds_each(Column::NamespaceId))
}

/// The fires that match the filter in the namespace of the joined row `home`.
fn matching_in_each(store: &Store, within: &Within, filter: &Filter) -> Select<Entity> {
    narrowed(store, within, filter).filter(Expr::cust("fire.namespace_id = home.id"))
}

fn narrowed(store: &Store, within: &Within, filter: &Filter) -> Select<Entity> {
    Entity::find()
        .apply_if(filter.verdicts.clone(), |query, verdicts| {
            query.filter(Column::Verdict.is_in(verdicts))
        })
        .apply_if(filter.reasons.clone(), |query, reasons| {
            query.filter(Column::Reason.is_in(reasons))
        })
        .apply_if(filter.schedules.clone(), |query, ids| {
            query.filter(Column::ScheduleId.is_in(ids))
        })
        .apply_if(filter.after, |query, at| query.filter(Column::ScheduledAt.gte(at)))
        .apply_if(filter.before, |query, at| query.filter(Column::ScheduledAt.lt(at)))
        .apply_if(filter.search.as_ref(), |query, sought| {
            let such = schedule::Entity::find()
                .select_only()
                .column(schedule::Column::Id)
                .filter(within.holds(schedule::Column::NamespaceId))
                .filter(sought.schedules(store.dialect(), within));
            query.filter(Column::ScheduleId.in_subquery(such.into_query()))
        })
}

fn windowed(list: Select<Entity>, window: &PageWindow<Key>) -> Select<Entity> {
    list.apply_if(window.after, |query, key| query.filter(beyond(key, &Order::Desc)))
        .apply_if(window.before, |query, key| query.filter(beyond(key, &Order::Asc)))
}

/// The condition for rows after a key.
/// A separate condition on the instant lets the database use the index.
fn beyond((at, id): Key, order: &Order) -> Condition {
    let (from, further, later) = if matches!(order, Order::Desc) {
        (Column::ScheduledAt.lte(at), Column::ScheduledAt.lt(at), Column::Id.lt(id))
    } else {
        (Column::ScheduledAt.gte(at), Column::ScheduledAt.gt(at), Column::Id.gt(id))
    };
    Condition::all().add(from).add(Condition::any().add(further).add(later))
}

fn ordered(list: Select<Entity>, window: &PageWindow<Key>) -> Select<Entity> {
    let order = if window.from_end { Order::Asc } else { Order::Desc };
    list.order_by(Column::ScheduledAt, order.clone())
        .order_by(Column::Id, order)
        .limit(window.reach())
}

/// A query that takes the first rows of each namespace and merges them.
fn merged(
    store: &Store,
    within: &Within,
    first: Select<Entity>,
    window: &PageWindow<Key>,
) -> Statement {
    let order = if window.from_end { Order::Asc } else { Order::Desc };
    let (home, fire) = (Alias::new("home"), Alias::new("fire"));
    let mut query = Query::select();
    query.column((fire.clone(), Asterisk)).from_subquery(within.keys(), home);
    if store.dialect().is_postgres() {
        let always = Expr::cust("true").into_condition();
        query.join_lateral(JoinType::InnerJoin, first.into_query(), fire, always);
    } else {
        // SQLite has no LATERAL, so it reads the keys of each namespace first and then their rows.
        let keys = first.select_only().column(Column::Id).into_query();
        query.cross_join(Entity).and_where(Column::Id.in_subquery(keys));
    }
    query
        .order_by_expr(Column::ScheduledAt.into_simple_expr(), order.clone())
        .order_by_expr(Column::Id.into_simple_expr(), order)
        .limit(window.reach());
    store.dialect().backend().build(&query)
}
