//! Reads the figures that the budgets of tags limit.
//!
//! Each figure of all budgets is one pass over the few rows that count (missed fires, failed runs,
//! stalled runs), not one pass for each budget. The lateness of fires is read through the index on
//! a schedule's runs, only where a budget limits it, and of a bounded number of runs.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult, Value};
use uuid::Uuid;

use super::{
    health::{HealthScope, OF_LIVE_NAMESPACE, is_stalled},
    within::Within,
};
use crate::store::{
    Store, StoreError,
    days::{DAY_MS, first_key},
};

/// Maximum number of budgets that are read at once, by namespace and tag.
pub const MAX_BUDGETS: usize = 200;

/// The longest span that a budget may judge, in milliseconds.
pub const MAX_SPAN_MS: i64 = DAY_MS;

/// The lateness of this many of a schedule's runs is read, newest first, and of this many in all.
const RUNS_OF_A_SCHEDULE: &str = "500";
const RUNS_IN_ALL: &str = "100000";

/// A budget with its current figures.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct MeasuredBudget {
    /// The key of the budget.
    pub id: Uuid,
    /// The name of the budget's namespace.
    pub namespace: String,
    /// The tag whose schedules are counted.
    pub tag: String,
    /// The limit of missed fires, if the budget has one of its own.
    pub max_missed: Option<i64>,
    /// The limit of failed runs, if the budget has one of its own.
    pub max_failed: Option<i64>,
    /// The limit of stalled runs, if the budget has one of its own.
    pub max_stalled: Option<i64>,
    /// The limit of the 99th percentile of lateness, if the budget has one.
    pub max_late_ms: Option<i64>,
    /// The length of the judged span.
    pub span_ms: i64,
    /// The module that declares the budget.
    pub module: Option<String>,
    /// Who last changed the budget.
    pub updated_by: String,
    /// When the budget was last changed.
    pub updated_at: Timestamp,
    /// Fires in the span that were missed or abandoned.
    pub missed: i64,
    /// Runs in the span that failed or timed out.
    pub failed: i64,
    /// Runs past their hard deadline, or held by a node that is gone.
    pub stalled: i64,
    /// The 99th percentile of the lateness of the span's fires, from due time to hand-off. `None`
    /// if there are none, or if the budget does not limit it.
    pub late_ms: Option<i64>,
}

/// The budgets of a scope with their figures at `now`, by namespace and tag: at most 200.
pub async fn measured(
    store: &Store,
    scope: &HealthScope,
    now: Timestamp,
) -> Result<Vec<MeasuredBudget>, StoreError> {
    let dialect = store.dialect();
    // Without a budget, nothing else is read.
    let Some(span_ms) = longest_span(store, scope).await? else { return Ok(vec![]) };
    let oldest = now.0 - span_ms;
    let mut values: Vec<Value> = vec![now.0.into(), oldest.into(), first_key(oldest).into()];
    let chosen = chosen(&scope.within, scope.tag.as_deref(), &mut values);
    let has = dialect.list_has("s.tags", "b.tag");
    // SQLite has no statistics: without CROSS it might read the fires of each schedule.
    let join = if dialect.is_postgres() { "JOIN" } else { "CROSS JOIN" };
    let of_budget = |row: &str| {
        format!(
            "{join} schedule s ON s.id = {row}.schedule_id \
             {join} budget b ON b.namespace_id = s.namespace_id AND {has}"
        )
    };
    let (of_fire, of_run, stalled) = (of_budget("f"), of_budget("r"), is_stalled(dialect, "r"));
    let which = "run.schedule_id = s.id AND run.id >= $3";
    let runs = dialect.newest_of_each("run", which, "run.id DESC", RUNS_OF_A_SCHEDULE);
    let sql = format!(
        "WITH budget AS (SELECT b.id, b.namespace_id, n.name AS namespace, b.tag, b.missed, \
             b.failed, b.stalled, b.late_ms, b.span_ms, b.module, b.updated_by, \
             b.updated_at \
           FROM health_budget b JOIN namespace n ON n.id = b.namespace_id{chosen} \
           ORDER BY n.name, b.tag LIMIT {MAX_BUDGETS}), \
         lost AS (SELECT b.id AS id, CAST(sum(f.count) AS bigint) AS total FROM fire f {of_fire} \
           WHERE f.verdict IN ('missed', 'abandoned') AND f.decided_at >= $2 \
             AND f.decided_at >= $1 - b.span_ms GROUP BY b.id), \
         bad AS (SELECT b.id AS id, count(*) AS total FROM run r {of_run} \
           WHERE r.state IN ('failed', 'timed_out', 'cancelled') AND r.state <> 'cancelled' \
             AND r.namespace_id IN (SELECT namespace_id FROM budget) AND r.finished_at >= $2 \
             AND r.finished_at >= $1 - b.span_ms GROUP BY b.id), \
         stuck AS (SELECT b.id AS id, count(*) AS total FROM run r {of_run} \
           WHERE {stalled} GROUP BY b.id), \
         delay AS (SELECT b.id AS id, run.created_at - run.due_at AS late \
           FROM budget b JOIN schedule s ON s.namespace_id = b.namespace_id AND {has} {runs} \
           WHERE b.late_ms IS NOT NULL AND s.deleted_at IS NULL AND run.fire_id IS NOT NULL \
             AND run.created_at >= $1 - b.span_ms LIMIT {RUNS_IN_ALL}), \
         ranked AS (SELECT id, late, \
             row_number() OVER (PARTITION BY id ORDER BY late DESC) AS place, \
             count(*) OVER (PARTITION BY id) AS total FROM delay), \
         slow AS (SELECT id, late FROM ranked WHERE place = total / 100 + 1) \
         SELECT b.id AS id, b.namespace AS namespace, b.tag AS tag, b.missed AS max_missed, \
           b.failed AS max_failed, b.stalled AS max_stalled, b.late_ms AS max_late_ms, \
           b.span_ms AS span_ms, b.module AS module, b.updated_by AS updated_by, \
           b.updated_at AS updated_at, \
           coalesce(lost.total, 0) AS missed, coalesce(bad.total, 0) AS failed, \
           coalesce(stuck.total, 0) AS stalled, slow.late AS late_ms \
         FROM budget b LEFT JOIN lost ON lost.id = b.id LEFT JOIN bad ON bad.id = b.id \
           LEFT JOIN stuck ON stuck.id = b.id LEFT JOIN slow ON slow.id = b.id \
         ORDER BY b.namespace, b.tag"
    );
    let statement = dialect.statement(sql, values);
    Ok(MeasuredBudget::find_by_statement(statement).all(store.read()).await?)
}

/// The longest span of the scope's budgets; `None` if there are no budgets.
async fn longest_span(store: &Store, scope: &HealthScope) -> Result<Option<i64>, StoreError> {
    let mut values = Vec::new();
    let chosen = chosen(&scope.within, scope.tag.as_deref(), &mut values);
    let sql = format!("SELECT max(b.span_ms) AS span_ms FROM health_budget b{chosen}");
    let row = store.read().query_one_raw(store.dialect().statement(sql, values)).await?;
    let span: Option<Option<i64>> = row.map(|row| row.try_get("", "span_ms")).transpose()?;
    Ok(span.flatten())
}

/// The condition on the budgets `b` of a scope, with WHERE; its values are added to `values`.
fn chosen(within: &Within, tag: Option<&str>, values: &mut Vec<Value>) -> String {
    let mut conditions = vec![OF_LIVE_NAMESPACE.to_owned()];
    if let Some(home) = within.compared(values) {
        conditions.push(format!("b.namespace_id {home}"));
    }
    if let Some(tag) = tag {
        values.push(tag.to_owned().into());
        conditions.push(format!("b.tag = ${}", values.len()));
    }
    format!(" WHERE {}", conditions.join(" AND "))
}
