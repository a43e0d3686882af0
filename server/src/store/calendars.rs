//! Calendars, and the schedules that name them.

use entity::{
    Timestamp,
    calendar::{ActiveModel, Column, Entity, Model},
    schedule,
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, Select,
    sea_query::{Expr, ExprTrait, Func, SimpleExpr},
};
use uuid::Uuid;

use super::{
    DatabaseTransaction, Dialect, Page, Store, StoreError, Window,
    claims::{DUE_COLUMNS, DueSchedule},
};

/// The living calendar of that name.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Name.eq(name))
        .filter(Column::DeletedAt.is_null());
    Ok(query.one(connection).await?)
}

/// The calendars of those keys, deleted ones too.
pub async fn by_ids<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Id.is_in(ids.iter().copied())).all(connection).await?)
}

/// The versions of the calendars of those keys.
pub async fn versions<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<(Uuid, i32)>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::Id)
        .column(Column::Version)
        .filter(Column::Id.is_in(ids.iter().copied()));
    Ok(query.into_tuple().all(connection).await?)
}

/// The living calendars of those names. Those that are held are not deleted before the transaction
/// ends.
pub async fn by_names<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    names: &[String],
    are_held: bool,
) -> Result<Vec<Model>, StoreError> {
    let mut query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Name.is_in(names))
        .filter(Column::DeletedAt.is_null());
    if are_held {
        query = query.lock_shared();
    }
    Ok(query.all(connection).await?)
}

/// The living calendar of that key, locked until the transaction ends.
pub async fn lock<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::DeletedAt.is_null()).lock_exclusive();
    Ok(query.one(tx).await?)
}

/// The living calendars of a namespace, by name.
pub async fn all<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::DeletedAt.is_null())
        .order_by_asc(Column::Name);
    Ok(query.all(connection).await?)
}

/// The living calendars that the module declared.
pub async fn of_module<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    module: &str,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::Module.eq(module))
        .filter(Column::DeletedAt.is_null())
        .order_by_asc(Column::Name);
    Ok(query.all(connection).await?)
}

/// A page of the living calendars, by name without regard to case, then by key.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    window: &Window<(String, Uuid)>,
) -> Result<Page<Model>, StoreError> {
    let mut query = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::DeletedAt.is_null())
        .order_by_asc(folded())
        .order_by_asc(Column::Id)
        .limit(window.reach());
    if let Some((name, id)) = &window.after {
        let later = Condition::any()
            .add(folded().gt(name.as_str()))
            .add(folded().eq(name.as_str()).and(Column::Id.gt(*id)));
        query = query.filter(later);
    }
    Ok(window.page(query.all(connection).await?))
}

fn folded() -> SimpleExpr {
    Func::lower(Expr::col((Entity, Column::Name))).into()
}

/// Adds a calendar.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Writes the set columns of `row` if the living calendar still has `version`.
pub async fn update_if_version<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    version: i32,
    row: ActiveModel,
) -> Result<bool, StoreError> {
    let update = Entity::update_many()
        .set(row)
        .filter(Column::Id.eq(id))
        .filter(Column::Version.eq(version))
        .filter(Column::DeletedAt.is_null());
    Ok(update.exec(tx).await?.rows_affected == 1)
}

/// Deletes the calendar, softly: its name is free.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid, at: Timestamp) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::DeletedAt, Expr::value(at))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// Some of the living schedules that name the calendar, by name, from behind that of `after` on: at
/// most `most`.
pub async fn users<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    calendar: &Model,
    after: Option<&str>,
    most: u64,
) -> Result<Vec<schedule::Model>, StoreError> {
    let mut query = naming(dialect, calendar)
        .filter(schedule::Column::DeletedAt.is_null())
        .order_by_asc(schedule::Column::Name)
        .limit(most);
    if let Some(after) = after {
        query = query.filter(schedule::Column::Name.gt(after));
    }
    Ok(query.all(connection).await?)
}

/// Tells the followers of the schedules that name the calendar that something about them changed.
pub async fn stamp_users<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    calendar: &Model,
) -> Result<(), StoreError> {
    use schedule::Column;
    let users = naming(dialect, calendar).select_only().column(Column::Id).into_query();
    schedule::Entity::update_many()
        .col_expr(Column::Changed, Expr::cust(dialect.stamp("schedule")))
        .filter(Column::Id.in_subquery(users))
        .exec(tx)
        .await?;
    Ok(())
}

impl Store {
    /// Schedules that name the calendar and are due at `now`, the most overdue first: at most
    /// `most`. The transaction has [stamped](stamp_users) them, so nobody claims them meanwhile.
    pub async fn due_under_calendar(
        &self,
        tx: &DatabaseTransaction,
        calendar: &Model,
        now: Timestamp,
        most: u64,
    ) -> Result<Vec<DueSchedule>, StoreError> {
        let names = self.dialect().list_has("schedule.calendars", "$2");
        let sql = format!(
            "SELECT {DUE_COLUMNS} FROM schedule WHERE enabled AND next_fire_at IS NOT NULL \
               AND next_fire_at <= $1 AND namespace_id = $3 AND calendars IS NOT NULL AND {names} \
             ORDER BY next_fire_at, id LIMIT $4"
        );
        let (id, most) = (calendar.id.to_string(), most.cast_signed());
        let values = [now.0.into(), id.into(), calendar.namespace_id.into(), most.into()];
        let statement = self.dialect().statement(sql, values);
        Ok(DueSchedule::find_by_statement(statement).all(tx).await?)
    }
}

fn naming(dialect: &Dialect, calendar: &Model) -> Select<schedule::Entity> {
    let placeholder = if dialect.is_postgres() { "$1" } else { "?" };
    let has = dialect.list_has("schedule.calendars", placeholder);
    schedule::Entity::find()
        .filter(schedule::Column::NamespaceId.eq(calendar.namespace_id))
        .filter(schedule::Column::Calendars.is_not_null())
        .filter(Expr::cust_with_values(has, [calendar.id.to_string()]))
}
