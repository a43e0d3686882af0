//! Reads the rows that have changed since a cursor, in the order of their changes.
//!
//! A read first finds out up to which point the feed is complete, and then reads up to that point.
//! When it has read everything, its position is that point and not the last row that matched its
//! filter. So the rows in between need not be read again.

use entity::{alert, backfill, node, run, schedule};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait, Select,
    sea_query::{Expr, ExprTrait},
};
use uuid::Uuid;

use super::within::Within;
use crate::store::{Cursor, Store, StoreError};

/// Rows that have changed, and the position to continue from.
#[derive(Debug)]
pub struct ChangedRows<T> {
    /// The rows, in the order of their last change.
    pub rows: Vec<T>,
    /// The position from which to continue.
    pub position: Cursor,
    /// Whether there is more to read after that position.
    pub more: bool,
}

/// Selects the runs to follow. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct FeedFilter {
    /// Only runs of this schedule.
    pub schedule_id: Option<Uuid>,
    /// Only this run.
    pub run_id: Option<Uuid>,
}

/// The end of the feed of runs. Later changes come after it.
pub async fn end_of_runs(store: &Store) -> Result<Cursor, StoreError> {
    end(store, "run").await
}

/// The end of the feed of schedules. Later changes come after it.
pub async fn end_of_schedules(store: &Store) -> Result<Cursor, StoreError> {
    end(store, "schedule").await
}

/// The end of the feed of nodes. Later changes come after it.
pub async fn end_of_nodes(store: &Store) -> Result<Cursor, StoreError> {
    end(store, "node").await
}

/// The end of the feed of alerts. Later changes come after it.
pub async fn end_of_alerts(store: &Store) -> Result<Cursor, StoreError> {
    end(store, "alert").await
}

/// The end of the feed of backfills. Later changes come after it.
pub async fn end_of_backfills(store: &Store) -> Result<Cursor, StoreError> {
    end(store, "backfill").await
}

/// The lives of nodes that have changed since `after`. Each heartbeat is a change.
pub async fn nodes(
    store: &Store,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<node::Model>, StoreError> {
    use node::{Column, Entity};
    let end = end_of_nodes(store).await?;
    let changed = between(Entity::find(), [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(batch(rows, limit, after, end, |row| Cursor { changed: row.changed, id: row.id }))
}

/// The runs that have changed since `after`.
pub async fn runs(
    store: &Store,
    within: &Within,
    filter: &FeedFilter,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<run::Model>, StoreError> {
    use run::{Column, Entity};
    let end = end_of_runs(store).await?;
    let theirs = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(filter.schedule_id, |query, id| query.filter(Column::ScheduleId.eq(id)))
        .apply_if(filter.run_id, |query, id| query.filter(Column::Id.eq(id)));
    let changed = between(theirs, [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(batch(rows, limit, after, end, |row| Cursor { changed: row.changed, id: row.id }))
}

/// The schedules, including deleted ones, that have changed since `after`. The schedules of a
/// namespace are deleted with it, so followers of all namespaces get these, too.
pub async fn schedules(
    store: &Store,
    within: &Within,
    ids: Option<&[Uuid]>,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<schedule::Model>, StoreError> {
    use schedule::{Column, Entity};
    let end = end_of_schedules(store).await?;
    let is_home = within.holds(Column::NamespaceId);
    let is_home = match within {
        Within::Live => Condition::any().add(is_home).add(Column::DeletedAt.is_not_null()),
        Within::One(_) | Within::Some(_) | Within::All => is_home,
    };
    let theirs = Entity::find()
        .filter(is_home)
        .apply_if(ids, |query, ids| query.filter(Column::Id.is_in(ids.iter().copied())));
    let changed = between(theirs, [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(batch(rows, limit, after, end, |row| Cursor { changed: row.changed, id: row.id }))
}

/// The alerts, including withdrawn ones, that have changed since `after`. Those of deleted rules are
/// left out, as they are in the list.
pub async fn alerts(
    store: &Store,
    within: &Within,
    rule: Option<Uuid>,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<alert::Model>, StoreError> {
    use alert::{Column, Entity};
    let end = end_of_alerts(store).await?;
    let theirs = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(Expr::cust("EXISTS (SELECT 1 FROM alert_rule r WHERE r.id = alert.rule_id)"))
        .apply_if(rule, |query, id| query.filter(Column::RuleId.eq(id)));
    let changed = between(theirs, [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(batch(rows, limit, after, end, |row| Cursor { changed: row.changed, id: row.id }))
}

/// The backfills that have changed since `after`. A change of one of its fires is a change of a
/// backfill.
pub async fn backfills(
    store: &Store,
    within: &Within,
    id: Option<Uuid>,
    after: Cursor,
    limit: u64,
) -> Result<ChangedRows<backfill::Model>, StoreError> {
    use backfill::{Column, Entity};
    let end = end_of_backfills(store).await?;
    let theirs = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(id, |query, id| query.filter(Column::Id.eq(id)));
    let changed = between(theirs, [Column::Changed, Column::Id], after, end).limit(limit);
    let rows = changed.all(store.read()).await?;
    Ok(batch(rows, limit, after, end, |row| Cursor { changed: row.changed, id: row.id }))
}

/// The rows of a query that have changed after one position and
/// up to another, in the order of the changes.
pub(super) fn between<E: EntityTrait>(
    query: Select<E>,
    [changed, id]: [E::Column; 2],
    after: Cursor,
    end: Cursor,
) -> Select<E> {
    let place = Expr::tuple([changed.into_expr(), id.into_expr()]);
    query
        .filter(place.gt(Expr::tuple([Expr::val(after.changed), Expr::val(after.id)])))
        .filter(changed.lte(end.changed))
        .order_by_asc(changed)
        .order_by_asc(id)
}

/// Whether rows have stamps that this database has not assigned yet. Such rows come from a dump of
/// another PostgreSQL cluster, and followers wait until this cluster's stamps have passed them.
pub async fn is_ahead(store: &Store) -> Result<bool, StoreError> {
    #[derive(FromQueryResult)]
    struct IsAhead {
        is_ahead: bool,
    }
    if !store.dialect().is_postgres() {
        return Ok(false);
    }
    let next = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM run WHERE changed >= {next}) \
           OR EXISTS (SELECT 1 FROM alert WHERE changed >= {next}) \
           OR EXISTS (SELECT 1 FROM backfill WHERE changed >= {next}) \
           OR EXISTS (SELECT 1 FROM fire WHERE changed >= {next}) \
           OR EXISTS (SELECT 1 FROM stat_position WHERE changed >= {next}) AS is_ahead"
    );
    let row =
        IsAhead::find_by_statement(store.dialect().statement(sql, [])).one(store.read()).await?;
    Ok(row.is_some_and(|row| row.is_ahead))
}

pub(super) async fn end(store: &Store, table: &str) -> Result<Cursor, StoreError> {
    #[derive(FromQueryResult)]
    struct FeedEnd {
        changed: Option<i64>,
    }
    let horizon = store.dialect().horizon();
    let sql = format!("SELECT max(changed) AS changed FROM {table} WHERE changed < {horizon}");
    let statement = store.dialect().statement(sql, []);
    let row = FeedEnd::find_by_statement(statement).one(store.read()).await?;
    let changed = row.and_then(|row| row.changed);
    Ok(changed.map_or(Cursor::START, |changed| Cursor { changed, id: Uuid::max() }))
}

pub(super) fn batch<T>(
    rows: Vec<T>,
    limit: u64,
    after: Cursor,
    end: Cursor,
    at: impl Fn(&T) -> Cursor,
) -> ChangedRows<T> {
    let more = u64::try_from(rows.len()).is_ok_and(|count| count >= limit);
    let last = rows.last().map(at);
    let position = if more { last.unwrap_or(after) } else { after.max(end) };
    ChangedRows { rows, position, more }
}
