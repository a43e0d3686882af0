//! Reads the figures that the health checks judge.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult, Value};

use super::within::Within;
use crate::store::{
    Dialect, Store, StoreError,
    ledger::{candidates::BEFORE_PAUSE, pauses::UNREADABLE},
};

/// The schedules that the figures cover.
#[derive(Clone, Debug)]
pub struct HealthScope {
    /// Only schedules of these namespaces.
    pub within: Within,
    /// Only schedules with this tag; `None` does not narrow the scope.
    pub tag: Option<String>,
}

impl Default for HealthScope {
    /// The scope of all schedules.
    fn default() -> Self {
        Self { within: Within::All, tag: None }
    }
}

/// The figures that the health checks judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct HealthFigures {
    /// Number of fires in the last hour that were missed or abandoned.
    pub missed: i64,
    /// Number of runs in the last hour that failed or timed out.
    pub failed: i64,
    /// Number of runs past their hard deadline, or held by a node that is gone.
    pub stalled: i64,
    /// How long the oldest due schedule has waited to be claimed.
    pub oldest_unclaimed_ms: Option<i64>,
    /// Number of claimed fires that have no run.
    pub pending_handoffs: i64,
    /// Number of nodes that have not been declared dead.
    /// A silent node counts until its heartbeat has expired.
    pub nodes_alive: i64,
}

/// A schedule or a backfill that the server has paused because it could not continue.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct SelfPaused {
    /// The namespace's name.
    pub namespace: String,
    /// The schedule's name.
    pub schedule: String,
    /// Whether a backfill of the schedule is paused, and not the schedule itself.
    pub is_backfill: bool,
}

/// Maximum number of self-paused schedules that are read, and of backfills.
pub const MAX_SELF_PAUSED: usize = 100;

/// The condition that the namespace of a budget `b` is not deleted.
pub(super) const OF_LIVE_NAMESPACE: &str =
    "b.namespace_id NOT IN (SELECT id FROM namespace WHERE deleted_at IS NOT NULL)";

pub(super) const HOUR_MS: i64 = 60 * 60 * 1_000;

/// The condition for a schedule `s` that is paused because its timing cannot be read. A partial
/// index has its first part.
pub(super) fn is_unreadable() -> String {
    format!(
        "s.paused_by = 'carillon' AND NOT s.enabled AND s.deleted_at IS NULL \
           AND s.paused_reason LIKE '{UNREADABLE}%'"
    )
}

/// The condition for a backfill `b` that has paused itself: a user's pause has no reason. A partial
/// index has its first part.
pub(super) const IS_STUCK: &str =
    "b.finished_at IS NULL AND b.state = 'paused' AND b.paused_reason IS NOT NULL";

/// Whether any schedule in the scope's namespaces has the scope's tag, or one of them has a budget
/// for it.
pub async fn has_tag(store: &Store, scope: &HealthScope) -> Result<bool, StoreError> {
    let Some(tag) = &scope.tag else { return Ok(true) };
    let has = store.dialect().list_has("s.tags", "$1");
    let mut values: Vec<Value> = vec![tag.clone().into()];
    let within = scope.within.compared(&mut values);
    let of = |row: &str| {
        within.as_ref().map(|home| format!(" AND {row}.namespace_id {home}")).unwrap_or_default()
    };
    let sql = format!(
        "SELECT 1 AS found FROM schedule s WHERE s.deleted_at IS NULL{} AND {has} \
         UNION ALL SELECT 1 AS found FROM health_budget b \
           WHERE b.tag = $1 AND {OF_LIVE_NAMESPACE}{} LIMIT 1",
        of("s"),
        of("b"),
    );
    let found = store.read().query_one_raw(store.dialect().statement(sql, values)).await?;
    Ok(found.is_some())
}

/// Reads the figures at `now`. In the scope of a tag, the first three do not cover namespaces that
/// have a budget for the tag: `health_budgets` reads theirs.
pub async fn figures(
    store: &Store,
    scope: &HealthScope,
    now: Timestamp,
) -> Result<HealthFigures, StoreError> {
    let dialect = store.dialect();
    let mut values: Vec<Value> = vec![now.0.into(), (now.0 - HOUR_MS).into()];
    let of_schedule = of_schedule(store, scope, &mut values);
    // The tag is the last value of the condition.
    let beside_budgets = scope.tag.as_ref().map_or_else(String::new, |_| {
        format!(
            " AND NOT EXISTS (SELECT 1 FROM health_budget hb \
               WHERE hb.namespace_id = s.namespace_id AND hb.tag = ${})",
            values.len()
        )
    });
    // If the scope is all schedules, schedules need not be read, and runs without one count, too.
    let within = |row: &str, beside: &str| {
        if of_schedule.is_empty() {
            String::new()
        } else {
            format!(
                " AND EXISTS (SELECT 1 FROM schedule s \
                   WHERE s.id = {row}.schedule_id{of_schedule}{beside})"
            )
        }
    };
    let (fires, runs) = (within("f", &beside_budgets), within("r", &beside_budgets));
    let (pending, stalled) = (within("f", ""), is_stalled(dialect, "r"));
    let sql = format!(
        "SELECT \
           (SELECT CAST(coalesce(sum(f.count), 0) AS bigint) FROM fire f \
             WHERE f.verdict IN ('missed', 'abandoned') AND f.decided_at >= $2{fires}) AS missed, \
           (SELECT count(*) FROM run r WHERE r.state IN ('failed', 'timed_out', 'cancelled') \
             AND r.state <> 'cancelled' AND r.namespace_id IN (SELECT n.id FROM namespace n) \
             AND r.finished_at >= $2{runs}) AS failed, \
           (SELECT count(*) FROM run r WHERE {stalled}{runs}) AS stalled, \
           (SELECT $1 - min(s.next_fire_at) FROM schedule s WHERE s.enabled \
             AND s.next_fire_at IS NOT NULL AND s.next_fire_at <= $1 \
             AND {BEFORE_PAUSE}{of_schedule}) \
             AS oldest_unclaimed_ms, \
           (SELECT count(*) FROM fire f WHERE f.verdict = 'pending' \
             AND f.claimed_by IS NOT NULL{pending}) AS pending_handoffs, \
           (SELECT count(*) FROM node WHERE state = 'alive') AS nodes_alive"
    );
    let figures = HealthFigures::find_by_statement(dialect.statement(sql, values));
    Ok(figures.one(store.read()).await?.unwrap_or_default())
}

/// The condition that a run is past its hard deadline, or held by a node that is gone.
pub(super) fn is_stalled(dialect: &Dialect, run: &str) -> String {
    format!(
        "{run}.state IN ('queued', 'running', 'retrying') AND {run}.state = 'running' \
           AND ({run}.hard_deadline_at < {} OR NOT EXISTS \
             (SELECT 1 FROM node n WHERE n.id = {run}.node_id AND n.state = 'alive'))",
        dialect.now()
    )
}

/// Reads the schedules that the server paused because their timing cannot be read, and the
/// backfills that paused themselves: at most 100 of each, schedules first.
pub async fn self_paused(
    store: &Store,
    scope: &HealthScope,
) -> Result<Vec<SelfPaused>, StoreError> {
    let mut values = Vec::new();
    let of_schedule = of_schedule(store, scope, &mut values);
    let is_unreadable = is_unreadable();
    let sql = format!(
        "SELECT n.name AS namespace, s.name AS schedule, stopped.is_backfill AS is_backfill FROM ( \
           SELECT * FROM (SELECT s.id AS id, false AS is_backfill FROM schedule s \
             WHERE {is_unreadable}{of_schedule} LIMIT {MAX_SELF_PAUSED}) AS unreadable \
           UNION ALL \
           SELECT * FROM (SELECT s.id AS id, true AS is_backfill \
             FROM backfill b JOIN schedule s ON s.id = b.schedule_id \
             WHERE {IS_STUCK}{of_schedule} LIMIT {MAX_SELF_PAUSED}) AS stuck) AS stopped \
         JOIN schedule s ON s.id = stopped.id JOIN namespace n ON n.id = s.namespace_id \
         ORDER BY stopped.is_backfill, n.name, s.name"
    );
    let statement = store.dialect().statement(sql, values);
    Ok(SelfPaused::find_by_statement(statement).all(store.read()).await?)
}

/// The condition that a schedule `s` is in the scope, to be appended to another one. Its values are
/// appended to `values`.
fn of_schedule(store: &Store, scope: &HealthScope, values: &mut Vec<Value>) -> String {
    let mut condition = String::new();
    if let Some(home) = scope.within.compared(values) {
        condition.push_str(&format!(" AND s.namespace_id {home}"));
    }
    if let Some(tag) = &scope.tag {
        values.push(tag.clone().into());
        let has = store.dialect().list_has("s.tags", &format!("${}", values.len()));
        condition.push_str(&format!(" AND {has}"));
    }
    condition
}
