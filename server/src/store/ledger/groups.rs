//! Concurrency groups limit how many runs of several schedules may be running at once.

use std::collections::{HashMap, HashSet};

use entity::{
    Timestamp,
    concurrency_group::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, PaginatorTrait, QueryFilter,
    QueryOrder, QuerySelect,
    sea_query::{Expr, ExprTrait, Func, SimpleExpr},
};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Dialect, Store, StoreError,
    db::{bulk::BulkValues, lookups::lookups, within::Within},
};

/// The load of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct GroupUsage {
    /// The key of the group.
    pub id: Uuid,
    /// Number of running runs.
    pub running: i64,
    /// Number of runs that wait: for room in the group, for a node, or for their next attempt.
    pub waiting: i64,
    /// Number of schedules that refer to the group and are not deleted.
    pub schedules: i64,
}

/// The condition for a waiting run of any group, worded exactly as in the partial indexes.
pub(in crate::store) const GROUPED: &str =
    "run.group_id IS NOT NULL AND run.state IN ('queued', 'retrying')";
/// The condition for a running run of any group.
const AT_WORK: &str = "run.group_id IS NOT NULL AND run.state = 'running'";

/// The first group with a queue after the group in `behind`. The query asks for the first in order,
/// because PostgreSQL might read all waiting runs for a check of existence.
pub(in crate::store) fn first_group(behind: &str, live: &str) -> String {
    format!(
        "(SELECT run.group_id FROM run WHERE {GROUPED}{behind}{live} \
          ORDER BY run.group_id LIMIT 1)"
    )
}

/// The table `room(id, free)`, for use after `WITH RECURSIVE`: for each group with a queue,
/// how many more of its runs may start.
/// The query skips from one group to the next in the index of their queues, so its cost does not
/// depend on the length of the queues. A deleted group has no limit.
pub(in crate::store) fn room(dialect: &Dialect, now: Timestamp) -> String {
    let live = dialect.live_runs("run.id", now);
    format!(
        "waiting(id) AS (SELECT {} UNION ALL SELECT {} FROM waiting \
           WHERE waiting.id IS NOT NULL), \
         room AS MATERIALIZED (SELECT waiting.id, coalesce(g.max_runs - (SELECT count(*) FROM run \
           WHERE run.group_id = waiting.id AND {AT_WORK}{live}), {}) AS free \
           FROM waiting LEFT JOIN concurrency_group g ON g.id = waiting.id \
           WHERE waiting.id IS NOT NULL)",
        first_group("", &live),
        first_group(" AND run.group_id > waiting.id", &live),
        i32::MAX,
    )
}

impl Store {
    /// Locks the groups until the transaction ends, and returns how many more runs of each may
    /// start. Deleted groups are left out, because they have no limit.
    pub async fn lock_room(
        &self,
        tx: &DatabaseTransaction,
        groups: &HashSet<Uuid>,
        now: Timestamp,
    ) -> Result<HashMap<Uuid, i64>, StoreError> {
        #[derive(FromQueryResult)]
        struct GroupRoom {
            id: Uuid,
            free: i64,
        }
        if groups.is_empty() {
            return Ok(HashMap::new());
        }
        let ids = || BulkValues::default().uuid("id", groups.iter().copied());
        if self.dialect().is_postgres() {
            // The lock is a separate statement, because the count below must
            // see the writes of the lock's previous holder.
            let lock = ids().statement(
                self.dialect(),
                "SELECT g.id FROM concurrency_group g WHERE g.id IN (SELECT id FROM v) \
                 ORDER BY g.id FOR UPDATE",
                vec![],
            );
            tx.query_all_raw(lock).await?;
        }
        let sql = format!(
            "SELECT g.id, g.max_runs - (SELECT count(*) FROM run WHERE run.group_id = g.id \
               AND {AT_WORK}{}) AS free \
             FROM v JOIN concurrency_group g ON g.id = v.id",
            self.dialect().live_runs("run.id", now)
        );
        let count = ids().statement(self.dialect(), &sql, vec![]);
        let rows = GroupRoom::find_by_statement(count).all(tx).await?;
        Ok(rows.into_iter().map(|row| (row.id, row.free)).collect())
    }
}

lookups!("group", removed: by_ids, by_name, of_module, lock);

/// The groups of a namespace, sorted by case-insensitive name: at most `limit`.
pub async fn list<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    list_within(connection, &Within::One(namespace), limit).await
}

/// The groups of several namespaces, sorted by case-insensitive name: at most `limit`.
pub async fn list_within<C: ConnectionTrait>(
    connection: &C,
    within: &Within,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let folded: SimpleExpr = Func::lower(Expr::col((Entity, Column::Name))).into();
    let query = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .order_by_asc(folded)
        .order_by_asc(Column::Id)
        .limit(limit);
    Ok(query.all(connection).await?)
}

/// Number of groups in a namespace.
pub async fn count<C: ConnectionTrait>(connection: &C, namespace: Uuid) -> Result<u64, StoreError> {
    Ok(Entity::find().filter(Column::NamespaceId.eq(namespace)).count(connection).await?)
}

/// The group with this name. It cannot be deleted before the transaction ends.
pub async fn keep_by_name<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(named(namespace, name).lock_shared().one(tx).await?)
}

fn named(namespace: Uuid, name: &str) -> sea_orm::Select<Entity> {
    Entity::find().filter(Column::NamespaceId.eq(namespace)).filter(Column::Name.eq(name))
}

/// Adds a group.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Changes the name and the limit of a group.
pub async fn update<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    name: &str,
    max_runs: i32,
    at: Timestamp,
) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::Name, Expr::value(name))
        .col_expr(Column::MaxRuns, Expr::value(max_runs))
        .col_expr(Column::Version, Expr::col(Column::Version).add(1))
        .col_expr(Column::UpdatedAt, Expr::value(at))
        .filter(Column::Id.eq(id))
        .exec(tx)
        .await?;
    Ok(())
}

/// Deletes a group. Runs that still refer to it are no longer limited.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}

/// The running runs of the group, earliest start first: at most `limit`.
pub async fn at_work(
    store: &Store,
    group: Uuid,
    limit: u64,
) -> Result<Vec<entity::run::Model>, StoreError> {
    use entity::run;
    let query = run::Entity::find()
        .filter(run::Column::GroupId.eq(group))
        .filter(Expr::cust(AT_WORK))
        .order_by_asc(run::Column::StartedAt)
        .order_by_asc(run::Column::Id)
        .limit(limit);
    Ok(query.all(store.read()).await?)
}

/// Number of schedules that refer to the group and are not deleted.
pub async fn users<C: ConnectionTrait>(connection: &C, id: Uuid) -> Result<u64, StoreError> {
    use entity::schedule;
    let query = schedule::Entity::find()
        .filter(schedule::Column::GroupId.eq(id))
        .filter(schedule::Column::DeletedAt.is_null());
    Ok(query.count(connection).await?)
}

/// The load of each of these groups.
pub async fn loads(store: &Store, ids: &[Uuid]) -> Result<Vec<GroupUsage>, StoreError> {
    if ids.is_empty() {
        return Ok(vec![]);
    }
    let runs =
        |which: &str| format!("(SELECT count(*) FROM run WHERE run.group_id = v.id AND {which})");
    let sql = format!(
        "SELECT v.id AS id, {} AS running, {} AS waiting, (SELECT count(*) FROM schedule s \
           WHERE s.group_id = v.id AND s.group_id IS NOT NULL AND s.deleted_at IS NULL) \
           AS schedules FROM v",
        runs(AT_WORK),
        runs(GROUPED),
    );
    let statement = BulkValues::default().uuid("id", ids.iter().copied()).statement(
        store.dialect(),
        &sql,
        vec![],
    );
    Ok(GroupUsage::find_by_statement(statement).all(store.read()).await?)
}
