//! The rows of maintenance windows.

use entity::{
    Timestamp,
    maintenance_window::{ActiveModel, Column, Entity, Model, State},
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, Order, PaginatorTrait, QueryFilter,
    QueryOrder, QuerySelect, QueryTrait, sea_query::ExprTrait,
};
use uuid::Uuid;

use crate::store::{Page, PageWindow, StoreError, db::within::Within};

/// Selects maintenance windows. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only windows in these states.
    pub states: Option<Vec<State>>,
    /// Only windows that end after this instant.
    pub from: Option<Timestamp>,
    /// Only windows that begin before this instant.
    pub to: Option<Timestamp>,
}

/// The order of a list of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowOrder {
    /// Those that begin first come first.
    Soonest,
    /// Those that begin last come first.
    Newest,
}

/// The states of windows that are not over.
const NOT_OVER: [State; 2] = [State::Planned, State::Active];

/// The window with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The windows with these keys, in no particular order.
pub async fn by_ids<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::Id.is_in(ids.iter().copied()));
    Ok(query.all(connection).await?)
}

/// The window with this key, locked until the transaction ends.
pub async fn lock<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).lock_exclusive().one(tx).await?)
}

/// The windows that a module declares, and those that are not over and have one of these titles,
/// locked in the order of their keys until the transaction ends.
pub async fn lock_declared<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    module: &str,
    titles: &[String],
) -> Result<Vec<Model>, StoreError> {
    let is_meant = Condition::all()
        .add(Column::State.is_in(NOT_OVER))
        .add(Column::Title.is_in(titles.iter().cloned()));
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Condition::any().add(Column::Module.eq(module)).add(is_meant))
        .order_by_asc(Column::Id)
        .lock_exclusive();
    Ok(query.all(tx).await?)
}

/// The windows that a module declares, over or not.
pub async fn of_module<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    module: &str,
) -> Result<Vec<Model>, StoreError> {
    let query =
        Entity::find().filter(Column::NamespaceId.eq(namespace)).filter(Column::Module.eq(module));
    Ok(query.all(connection).await?)
}

/// The windows of a namespace that are not over, by start.
pub async fn list_not_over<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::State.is_in(NOT_OVER))
        .order_by_asc(Column::StartsAt)
        .order_by_asc(Column::Id);
    Ok(query.all(connection).await?)
}

/// Adds a window.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Writes the set columns of a window that this transaction has locked.
pub async fn update<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    columns: ActiveModel,
) -> Result<(), StoreError> {
    Entity::update_many().set(columns).filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Number of windows of a namespace that are not over.
pub async fn not_over<C: ConnectionTrait>(tx: &C, namespace: Uuid) -> Result<u64, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::State.is_in(NOT_OVER));
    Ok(query.count(tx).await?)
}

/// The windows that the engine has to work on, by start.
pub async fn open<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::IsOpen.eq(true))
        .order_by_asc(Column::StartsAt)
        .order_by_asc(Column::Id);
    Ok(query.all(connection).await?)
}

/// The windows of a namespace that are not over and overlap a range of time, by start: at most
/// `limit`.
pub async fn overlapping<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    from: Timestamp,
    to: Timestamp,
    except: Option<Uuid>,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::State.is_in(NOT_OVER))
        .filter(Column::StartsAt.lt(to))
        .filter(Column::EndsAt.gt(from))
        .apply_if(except, |query, id| query.filter(Column::Id.ne(id)))
        .order_by_asc(Column::StartsAt)
        .order_by_asc(Column::Id)
        .limit(limit);
    Ok(query.all(connection).await?)
}

/// A page of windows. The key of a row is its start and its key.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    within: &Within,
    filter: &Filter,
    order: WindowOrder,
    window: &PageWindow<(Timestamp, Uuid)>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(filter.states.as_ref(), |query, states| {
            query.filter(Column::State.is_in(states.iter().copied()))
        })
        .apply_if(filter.from, |query, from| query.filter(Column::EndsAt.gt(from)))
        .apply_if(filter.to, |query, to| query.filter(Column::StartsAt.lt(to)));
    let forward = match order {
        WindowOrder::Soonest => Order::Asc,
        WindowOrder::Newest => Order::Desc,
    };
    let query = list
        .clone()
        .apply_if(window.after, |query, (at, id)| {
            let same = Column::StartsAt.eq(at);
            let behind = match order {
                WindowOrder::Soonest => (Column::StartsAt.gt(at), same.and(Column::Id.gt(id))),
                WindowOrder::Newest => (Column::StartsAt.lt(at), same.and(Column::Id.lt(id))),
            };
            query.filter(Condition::any().add(behind.0).add(behind.1))
        })
        .order_by(Column::StartsAt, forward.clone())
        .order_by(Column::Id, forward)
        .limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}
