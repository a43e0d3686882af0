//! Calendars, and the schedules that refer to them.

use std::collections::HashMap;

use entity::{
    Timestamp,
    calendar::{ActiveModel, Column, Entity, Model},
    calendar_version, schedule,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, Select, Set, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{
    Dialect, Page, PageWindow, Store, StoreError,
    db::{
        bulk::BulkValues, lookups::lookups, names::name_contains, page::page_by_name,
        within::Within,
    },
};

lookups!("calendar", kept: by_name, by_ids, of_module, lock);

/// The current version of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromQueryResult)]
pub struct CalendarVersion {
    /// The calendar.
    pub id: Uuid,
    /// The number of the version.
    pub version: i32,
    /// Since when the version has been in force.
    pub updated_at: Timestamp,
}

/// A former version of a calendar.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct EndedVersion {
    /// The calendar.
    pub calendar_id: Uuid,
    /// The number of the version.
    pub version: i32,
    /// Until when the version was in force.
    pub ended_at: Timestamp,
}

/// The versions of these calendars.
pub async fn versions<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<CalendarVersion>, StoreError> {
    let query = Entity::find()
        .select_only()
        .columns([Column::Id, Column::Version, Column::UpdatedAt])
        .filter(Column::Id.is_in(ids.iter().copied()));
    Ok(query.into_model::<CalendarVersion>().all(connection).await?)
}

/// The names of these calendars by their keys, including those of deleted ones.
pub async fn names<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, String>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::Id)
        .column(Column::Name)
        .filter(Column::Id.is_in(ids.iter().copied()));
    let names: Vec<(Uuid, String)> = query.into_tuple().all(connection).await?;
    Ok(names.into_iter().collect())
}

/// The versions of those calendars in a namespace that are not deleted.
pub async fn versions_in<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
) -> Result<Vec<(Uuid, i32)>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::Id)
        .column(Column::Version)
        .filter(Column::NamespaceId.eq(namespace))
        .filter(Column::DeletedAt.is_null());
    Ok(query.into_tuple().all(connection).await?)
}

/// The calendars with these names that are not deleted.
/// With a lock, they cannot be deleted before the transaction ends.
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
        // Locks are taken in the order in which a deployment changes calendars.
        query = query.order_by_asc(Column::Name).lock_shared();
    }
    Ok(query.all(connection).await?)
}

/// The calendars in a namespace that are not deleted, sorted by name.
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

/// A page of the calendars that are not deleted, sorted by case-insensitive name, then by key. With
/// `text`, only those whose names contain it, ignoring case.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    within: &Within,
    text: Option<&str>,
    window: &PageWindow<(String, Uuid)>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(Column::DeletedAt.is_null())
        .apply_if(text, |query, text| query.filter(name_contains(Column::Name, text)));
    page_by_name(connection, list, Column::Name, Column::Id, window).await
}

/// Adds a calendar.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Writes the set columns of `row` if the calendar is not deleted and still has `version`.
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

/// Number of versions of a calendar that are kept. The oldest one also applies to earlier times.
const KEPT: i32 = 100;

/// Stores the calendar's state before a change that was made at this instant.
pub async fn keep_version<C: ConnectionTrait>(
    tx: &C,
    was: &Model,
    ended_at: Timestamp,
) -> Result<(), StoreError> {
    let row = calendar_version::ActiveModel {
        calendar_id: Set(was.id),
        version: Set(was.version),
        mode: Set(was.mode),
        definition: Set(was.definition.clone()),
        ended_at: Set(ended_at),
    };
    calendar_version::Entity::insert(row).exec_without_returning(tx).await?;
    calendar_version::Entity::delete_many()
        .filter(calendar_version::Column::CalendarId.eq(was.id))
        .filter(calendar_version::Column::Version.lte(was.version - KEPT))
        .exec(tx)
        .await?;
    Ok(())
}

/// The former versions of these calendars, in order of version.
pub async fn past<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<calendar_version::Model>, StoreError> {
    let query = calendar_version::Entity::find()
        .filter(calendar_version::Column::CalendarId.is_in(ids.iter().copied()))
        .order_by_asc(calendar_version::Column::Version);
    Ok(query.all(connection).await?)
}

/// When the former versions of these calendars ended, in order of version.
pub async fn past_versions<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<EndedVersion>, StoreError> {
    let query = calendar_version::Entity::find()
        .select_only()
        .column(calendar_version::Column::CalendarId)
        .column(calendar_version::Column::Version)
        .column(calendar_version::Column::EndedAt)
        .filter(calendar_version::Column::CalendarId.is_in(ids.iter().copied()))
        .order_by_asc(calendar_version::Column::Version);
    Ok(query.into_model::<EndedVersion>().all(connection).await?)
}

/// Marks the calendar as deleted, which frees its name.
/// No schedule refers to it, so its history no longer matters.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid, at: Timestamp) -> Result<(), StoreError> {
    calendar_version::Entity::delete_many()
        .filter(calendar_version::Column::CalendarId.eq(id))
        .exec(tx)
        .await?;
    Entity::update_many()
        .col_expr(Column::DeletedAt, Expr::value(at))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// Schedules that refer to the calendar and are not deleted, sorted by name
/// and starting after `after`: up to `most`.
pub async fn users<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    calendar: &Model,
    after: Option<&str>,
    most: u64,
) -> Result<Vec<schedule::Model>, StoreError> {
    users_since(connection, dialect, calendar, None, after, most).await
}

/// Schedules that refer to the calendar and, if an instant is given, have changed since then.
pub async fn users_since<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    calendar: &Model,
    since: Option<Timestamp>,
    after: Option<&str>,
    most: u64,
) -> Result<Vec<schedule::Model>, StoreError> {
    let mut query = naming(dialect, calendar)
        .filter(schedule::Column::DeletedAt.is_null())
        .order_by_asc(schedule::Column::Name)
        .limit(most);
    if let Some(since) = since {
        query = query.filter(schedule::Column::UpdatedAt.gte(since));
    }
    if let Some(after) = after {
        query = query.filter(schedule::Column::Name.gt(after));
    }
    Ok(query.all(connection).await?)
}

/// Keys of schedules that refer to the calendar and are not
/// deleted, starting after `after`: up to `most`.
pub async fn keys_of_users<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    calendar: &Model,
    after: Option<Uuid>,
    most: u64,
) -> Result<Vec<Uuid>, StoreError> {
    let mut query = naming(dialect, calendar)
        .filter(schedule::Column::DeletedAt.is_null())
        .select_only()
        .column(schedule::Column::Id)
        .order_by_asc(schedule::Column::Id)
        .limit(most);
    if let Some(after) = after {
        query = query.filter(schedule::Column::Id.gt(after));
    }
    Ok(query.into_tuple().all(connection).await?)
}

/// The number of schedules that refer to each of these calendars and are not deleted.
/// Calendars without such schedules are left out.
pub async fn user_counts(store: &Store, ids: &[Uuid]) -> Result<Vec<(Uuid, i64)>, StoreError> {
    #[derive(FromQueryResult)]
    struct CalendarUsers {
        word: String,
        users: i64,
    }
    let each = if store.dialect().is_postgres() {
        "CROSS JOIN LATERAL jsonb_array_elements_text(s.calendars) AS k(value)"
    } else {
        "CROSS JOIN json_each(s.calendars) k"
    };
    let sql = format!(
        "SELECT k.value AS word, count(*) AS users FROM schedule s {each} \
           WHERE s.namespace_id IN \
               (SELECT c.namespace_id FROM v JOIN calendar c ON c.id = v.id) \
             AND s.calendars IS NOT NULL AND s.deleted_at IS NULL \
             AND k.value IN (SELECT word FROM v) \
           GROUP BY k.value"
    );
    let statement = BulkValues::default()
        .uuid("id", ids.iter().copied())
        .text("word", ids.iter().map(Uuid::to_string))
        .statement(store.dialect(), &sql, vec![]);
    let rows = CalendarUsers::find_by_statement(statement).all(store.read()).await?;
    let counted = |row: CalendarUsers| Some((row.word.parse().ok()?, row.users));
    Ok(rows.into_iter().filter_map(counted).collect())
}

/// The calendars with this name that are not deleted: one per namespace.
pub async fn keys_named<C: ConnectionTrait>(
    connection: &C,
    within: &Within,
    name: &str,
) -> Result<Vec<Uuid>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::Id)
        .filter(within.holds(Column::NamespaceId))
        .filter(Column::Name.eq(name))
        .filter(Column::DeletedAt.is_null())
        .order_by_asc(Column::Id)
        .limit(MAX_NAMED);
    Ok(query.into_tuple().all(connection).await?)
}

/// Maximum number of calendars with one name, in all namespaces together, that a filter selects.
const MAX_NAMED: u64 = 1_000;

fn naming(dialect: &Dialect, calendar: &Model) -> Select<schedule::Entity> {
    let placeholder = if dialect.is_postgres() { "$1" } else { "?" };
    let has = dialect.list_has("schedule.calendars", placeholder);
    schedule::Entity::find()
        .filter(schedule::Column::NamespaceId.eq(calendar.namespace_id))
        .filter(schedule::Column::Calendars.is_not_null())
        .filter(Expr::cust_with_values(has, [calendar.id.to_string()]))
}
