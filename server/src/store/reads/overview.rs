//! An overview of one or several namespaces.

use std::collections::HashMap;

use entity::{Timestamp, node, run, schedule};
use sea_orm::{
    ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    sea_query::{Expr, SimpleExpr},
};
use uuid::Uuid;

use super::{schedules::MANUAL, within::Within};
use crate::store::{Store, StoreError};

/// The number of schedules and of live runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct OverviewCounts {
    /// Number of schedules that are not deleted.
    pub schedules: i64,
    /// Number of schedules that will fire, or are only started by hand.
    pub active: i64,
    /// Number of schedules that are paused.
    pub paused: i64,
    /// Number of runs that have not settled.
    pub live_runs: i64,
}

/// Counts schedules and live runs.
pub async fn counts(store: &Store, within: &Within) -> Result<OverviewCounts, StoreError> {
    let live = run::Entity::find()
        .select_only()
        .expr(Expr::cust("count(*)"))
        .filter(within.holds(run::Column::NamespaceId))
        .filter(super::runs::alive())
        .into_query();
    // As the list of active schedules has them.
    let active = format!(
        "count(CASE WHEN schedule.enabled \
           AND (schedule.next_scheduled_at IS NOT NULL OR {MANUAL}) THEN 1 END)"
    );
    let query = schedule::Entity::find()
        .select_only()
        .column_as(Expr::cust("count(*)"), "schedules")
        .column_as(Expr::cust(active), "active")
        .column_as(Expr::cust("count(CASE WHEN NOT enabled THEN 1 END)"), "paused")
        .column_as(SimpleExpr::from(live), "live_runs")
        .filter(within.holds(schedule::Column::NamespaceId))
        .filter(schedule::Column::DeletedAt.is_null());
    Ok(query.into_model().one(store.read()).await?.unwrap_or_default())
}

/// The schedules that fire next, the soonest first.
pub async fn soonest(
    store: &Store,
    within: &Within,
    limit: u64,
) -> Result<Vec<schedule::Model>, StoreError> {
    use schedule::{Column, Entity};
    let query = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(Column::Enabled.eq(true))
        .filter(Column::NextFireAt.is_not_null())
        .order_by_asc(Column::NextFireAt)
        .limit(limit);
    Ok(query.all(store.read()).await?)
}

/// The runs that have ended without success since an instant, newest first.
pub async fn failures(
    store: &Store,
    within: &Within,
    since: Timestamp,
    limit: u64,
) -> Result<Vec<run::Model>, StoreError> {
    use run::{Column, Entity, State};
    let query = Entity::find()
        .filter(within.holds_each(Column::NamespaceId))
        .filter(super::runs::ended_badly())
        .filter(Column::State.is_in([State::Failed, State::TimedOut]))
        .filter(Column::FinishedAt.gte(since))
        .order_by_desc(Column::FinishedAt)
        .limit(limit);
    Ok(query.all(store.read()).await?)
}

/// The latest life of each node that is alive or ended at most a day ago.
pub async fn nodes(store: &Store) -> Result<Vec<node::Model>, StoreError> {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let sql = format!(
        "SELECT node.* FROM node WHERE (state = 'alive' OR ended_at >= {} - $1) \
           AND incarnation = (SELECT max(n.incarnation) FROM node n WHERE n.name = node.name) \
         ORDER BY name LIMIT 1000",
        store.dialect().now()
    );
    let statement = store.dialect().statement(sql, [DAY_MS.into()]);
    Ok(node::Entity::find().from_raw_sql(statement).all(store.read()).await?)
}

/// The number of runs that each node is executing.
pub async fn runs_by_node(store: &Store) -> Result<HashMap<Uuid, i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct NodeRuns {
        node_id: Uuid,
        runs: i64,
    }
    // All live states are listed, because otherwise the database would not use the partial index.
    let statement = store.dialect().statement(
        "SELECT node_id, count(*) AS runs FROM run \
         WHERE state IN ('queued', 'running', 'retrying') AND state = 'running' \
           AND node_id IS NOT NULL GROUP BY node_id",
        [],
    );
    let rows = NodeRuns::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.node_id, row.runs)).collect())
}
