//! Reads the list of schedules, sorted by name (ignoring case) or by a time, and then by key.

use entity::{
    schedule::{Column, Entity, Model},
    workflow,
};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    Select,
    sea_query::{Expr, ExprTrait, Func, SimpleExpr},
};
use uuid::Uuid;

use super::{
    matching::in_name_or_note,
    search::TimedSearch,
    sorted::{self, Sorted, no_number},
    within::Within,
};
use crate::store::{Page, PageWindow, Store, StoreError, Total};

/// The state of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleStatus {
    /// The schedule will fire.
    Active,
    /// A user paused the schedule.
    Paused,
    /// The schedule's timing has no instants left.
    Finished,
    /// The schedule has reached its limit of fires.
    Exhausted,
}

/// Selects schedules. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only schedules whose name or note contains this text, ignoring case.
    pub text: Option<String>,
    /// Only schedules with this tag.
    pub tag: Option<String>,
    /// Only schedules in this state.
    pub standing: Option<ScheduleStatus>,
    /// Only schedules that run the workflow with this name.
    pub workflow: Option<String>,
    /// With true, only the schedules with these keys; with false, only the schedules without them.
    pub among: Option<(Vec<Uuid>, bool)>,
    /// Only schedules that refer to one of these calendars.
    pub calendars: Option<Vec<Uuid>>,
    /// With true, only schedules that have a tag; with false, only schedules without tags.
    pub tagged: Option<bool>,
    /// With true, only schedules that a module declares; with false, only the others.
    pub declared: Option<bool>,
    /// Schedules that are deleted and not purged yet, instead of those that are not deleted.
    pub deleted: bool,
    /// Only schedules that match this search.
    pub search: Option<TimedSearch>,
}

/// The key of a row in a page: the name in lower case and the schedule's key.
pub type Key = (String, Uuid);

/// A time by which schedules are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByTime {
    /// The next instant of the schedule's timing; none while the schedule is paused.
    Next,
    /// The last instant that has a row in the ledger.
    Last,
}

impl ByTime {
    /// The key of a schedule in a list that is sorted by this time.
    pub fn key(self, row: &Model, descending: bool) -> sorted::Key {
        let at = match self {
            Self::Next => row.next_scheduled_at.filter(|_| row.enabled),
            Self::Last => row.last_fire_at,
        };
        (at.map_or(no_number(descending), |at| at.0), row.id)
    }

    fn number(self) -> SimpleExpr {
        match self {
            Self::Next => {
                Expr::cust("CASE WHEN schedule.enabled THEN schedule.next_scheduled_at END")
            }
            Self::Last => Expr::col((Entity, Column::LastFireAt)),
        }
    }
}

/// A page of the schedules that are not deleted, sorted by a time.
pub async fn page_by_time(
    store: &Store,
    within: &Within,
    filter: &Filter,
    by: ByTime,
    descending: bool,
    window: &PageWindow<sorted::Key>,
) -> Result<Page<Model>, StoreError> {
    let list = matching(store, within, filter);
    let sorted = Sorted::by(by.number(), Expr::col((Entity, Column::Id)), descending);
    let query = sorted.rows(list.clone(), window);
    // All schedules of the list are read before the first
    // is known, so the time limit of searches applies.
    let rows = store.found(query.build(store.dialect().backend()), true).await?;
    Ok(window.page(rows).counted(|| Total::of(list, filter.search.is_some())))
}

/// A page of the schedules, sorted by name.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &Filter,
    descending: bool,
    window: &PageWindow<Key>,
) -> Result<Page<Model>, StoreError> {
    let forward = if descending { Order::Desc } else { Order::Asc };
    let list = matching(store, within, filter);
    page_of(store, list, forward, filter.search.is_some(), window).await
}

/// A page of these schedules, sorted by name. For a search, the time limit of searches applies.
pub(super) async fn page_of(
    store: &Store,
    list: Select<Entity>,
    forward: Order,
    is_search: bool,
    window: &PageWindow<Key>,
) -> Result<Page<Model>, StoreError> {
    let backward = if matches!(forward, Order::Desc) { Order::Asc } else { Order::Desc };
    let order = if window.from_end { backward.clone() } else { forward.clone() };
    let query = list
        .clone()
        .apply_if(window.after.as_ref(), |query, key| query.filter(beyond(key, forward)))
        .apply_if(window.before.as_ref(), |query, key| query.filter(beyond(key, backward)))
        .order_by(folded(), order.clone())
        .order_by(Column::Id, order)
        .limit(window.reach());
    let rows = store.found(query.build(store.dialect().backend()), is_search);
    Ok(window.page(rows.await?).counted(|| Total::of(list, is_search)))
}

/// An empty page of the list, which only serves to count it.
pub fn length(store: &Store, within: &Within, filter: &Filter) -> Page<Model> {
    let total = Total::of(matching(store, within, filter), filter.search.is_some());
    Page { rows: Vec::new(), has_previous: false, has_next: false, total: Some(total) }
}

/// The schedules that match a filter and fire next, the soonest first.
pub async fn soonest(
    store: &Store,
    within: &Within,
    filter: &Filter,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = due(store, within, filter).limit(limit);
    store.found(query.build(store.dialect().backend()), filter.search.is_some()).await
}

/// The schedules that match a filter and fire next on a clock other than that of UTC, which never
/// changes; the soonest first.
pub async fn on_local_clocks(
    store: &Store,
    within: &Within,
    filter: &Filter,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = due(store, within, filter).filter(Column::Zone.ne("UTC")).limit(limit);
    store.found(query.build(store.dialect().backend()), filter.search.is_some()).await
}

/// The schedules that match a filter and fire next, the soonest first.
fn due(store: &Store, within: &Within, filter: &Filter) -> Select<Entity> {
    matching(store, within, filter)
        .filter(Column::Enabled.eq(true))
        .filter(Column::NextFireAt.is_not_null())
        .order_by_asc(Column::NextFireAt)
}

/// The keys of the schedules that are not deleted, sorted by name: up to `most`.
pub async fn keys(
    store: &Store,
    within: &Within,
    filter: &Filter,
    most: u64,
) -> Result<Vec<Uuid>, StoreError> {
    let query = matching(store, within, filter)
        .select_only()
        .column(Column::Id)
        .order_by(folded(), Order::Asc)
        .order_by(Column::Id, Order::Asc)
        .limit(most);
    store.found_keys(query, filter.search.is_some()).await
}

/// The condition that a schedule has only the manual timing, so that it is never finished.
pub(super) const MANUAL: &str = "lower(CAST(schedule.expressions AS text)) = '[\"@manually\"]'";

/// [`MANUAL`] as an expression.
pub(in crate::store) fn is_manual() -> SimpleExpr {
    Expr::cust(MANUAL)
}

pub(in crate::store) fn matching(
    store: &Store,
    within: &Within,
    filter: &Filter,
) -> Select<Entity> {
    let is_deleted =
        if filter.deleted { Column::DeletedAt.is_not_null() } else { Column::DeletedAt.is_null() };
    Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(is_deleted)
        .apply_if(filter.text.as_deref(), |query, text| {
            query.filter(in_name_or_note(store.dialect(), text))
        })
        .apply_if(filter.standing, |query, standing| {
            query.filter(match standing {
                ScheduleStatus::Active => {
                    let fires = Condition::any().add(Column::NextScheduledAt.is_not_null());
                    Condition::all().add(Column::Enabled.eq(true)).add(fires.add(is_manual()))
                }
                ScheduleStatus::Paused => Condition::all().add(Column::Enabled.eq(false)),
                ScheduleStatus::Finished => Condition::all()
                    .add(Column::Enabled.eq(true))
                    .add(Column::NextScheduledAt.is_null())
                    .add(is_manual().not())
                    .add(spent().not()),
                ScheduleStatus::Exhausted => Condition::all()
                    .add(Column::Enabled.eq(true))
                    .add(Column::NextScheduledAt.is_null())
                    .add(spent()),
            })
        })
        .apply_if(filter.tag.clone(), |query, tag| {
            let placeholder = if store.dialect().is_postgres() { "$1" } else { "?" };
            let has = store.dialect().list_has("schedule.tags", placeholder);
            query.filter(Expr::cust_with_values(has, [tag]))
        })
        .apply_if(filter.among.clone(), |query, (ids, is_in)| {
            let among = Column::Id.is_in(ids);
            query.filter(if is_in { among } else { among.not() })
        })
        .apply_if(filter.calendars.clone(), |query, ids| {
            let placeholder = if store.dialect().is_postgres() { "$1" } else { "?" };
            let any = store.dialect().list_has_any("schedule.calendars", placeholder);
            let ids: Vec<String> = ids.iter().map(Uuid::to_string).collect();
            let any = Expr::cust_with_values(any, [serde_json::json!(ids).to_string()]);
            query.filter(Column::Calendars.is_not_null()).filter(any)
        })
        .apply_if(filter.tagged, |query, tagged| {
            let none = Expr::cust(store.dialect().list_is_empty("schedule.tags"));
            query.filter(if tagged { none.not() } else { none })
        })
        .apply_if(filter.declared, |query, declared| {
            let module = Column::Module;
            query.filter(if declared { module.is_not_null() } else { module.is_null() })
        })
        .apply_if(filter.workflow.clone(), |query, name| {
            let named = workflow::Entity::find()
                .select_only()
                .column(workflow::Column::Id)
                .filter(within.holds(workflow::Column::NamespaceId))
                .filter(workflow::Column::Name.eq(name))
                .filter(workflow::Column::DeletedAt.is_null());
            query.filter(Column::WorkflowId.in_subquery(named.into_query()))
        })
        .apply_if(filter.search.as_ref(), |query, sought| {
            query.filter(sought.schedules(store.dialect(), within))
        })
}

fn spent() -> SimpleExpr {
    let most = Expr::col((Entity, Column::MaxFires));
    let spent = Expr::col((Entity, Column::FireCount)).gte(most.clone());
    most.is_not_null().and(spent)
}

/// The condition for rows after a key.
/// A separate condition on the name lets the database use the index.
fn beyond((name, id): &Key, order: Order) -> Condition {
    let id_column = Expr::col((Entity, Column::Id));
    let same_name = folded().eq(name.as_str());
    let (further, later, from) = if matches!(order, Order::Desc) {
        (folded().lt(name.as_str()), id_column.lt(*id), folded().lte(name.as_str()))
    } else {
        (folded().gt(name.as_str()), id_column.gt(*id), folded().gte(name.as_str()))
    };
    Condition::all().add(from).add(Condition::any().add(further).add(same_name.and(later)))
}

fn folded() -> SimpleExpr {
    Func::lower(Expr::col((Entity, Column::Name))).into()
}
