//! Reads the schedules that cause a bad health figure, and since when.
//! Only read if the figure is bad.

use entity::Timestamp;
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::{
    health::{HOUR_MS, IS_STUCK, is_unreadable},
    within::Within,
};
use crate::store::{Store, StoreError, ledger::candidates::BEFORE_PAUSE};

/// A health figure that counts rows of schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthFigure {
    /// Fires of the last hour that were missed or abandoned.
    Missed,
    /// Runs that failed or timed out in the last hour.
    Failed,
    /// Runs past their hard deadline, or held by a node that is gone.
    Stalled,
    /// Claimed fires without a run.
    PendingHandoffs,
    /// Schedules that are due and not claimed.
    Unclaimed,
    /// Schedules that the server has paused, or that have a backfill which paused itself.
    SelfPaused,
}

/// A schedule's contribution to a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct FigureCause {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The number of its rows that count; for unclaimed schedules, always 1.
    pub count: i64,
    /// Since when the schedule has contributed.
    pub since: Timestamp,
}

/// The schedules that contribute most to a figure at `now`: up to `limit`.
pub async fn causes(
    store: &Store,
    counted: HealthFigure,
    within: &Within,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<FigureCause>, StoreError> {
    let hour_ago = now.0 - HOUR_MS;
    let mut values = vec![limit.into()];
    let home = match within {
        Within::One(_) | Within::Some(_) => within.compared(&mut values),
        Within::Live => Some("IN (SELECT id FROM namespace WHERE deleted_at IS NULL)".to_owned()),
        Within::All => None,
    };
    let home = home.unwrap_or_else(|| "IN (SELECT id FROM namespace)".to_owned());
    let column = match counted {
        // An index contains failed runs by namespace and end.
        HealthFigure::Failed => "namespace_id".to_owned(),
        HealthFigure::Missed
        | HealthFigure::Stalled
        | HealthFigure::PendingHandoffs
        | HealthFigure::Unclaimed
        | HealthFigure::SelfPaused => store.dialect().of_few("namespace_id"),
    };
    let database_now = store.dialect().now();
    let stopped = format!(
        "(SELECT s.id AS schedule_id, s.namespace_id AS namespace_id, s.paused_at AS paused_at \
           FROM schedule s WHERE {} \
           UNION ALL SELECT b.schedule_id, b.namespace_id, b.paused_at FROM backfill b \
           WHERE {IS_STUCK}) AS stopped",
        is_unreadable()
    );
    let (what, table, which) = match counted {
        HealthFigure::Missed => (
            "sum(count)",
            "fire",
            format!("verdict IN ('missed', 'abandoned') AND decided_at >= {hour_ago}"),
        ),
        HealthFigure::Failed => (
            "count(*)",
            "run",
            format!(
                "state IN ('failed', 'timed_out', 'cancelled') AND state <> 'cancelled' \
                 AND finished_at >= {hour_ago}"
            ),
        ),
        HealthFigure::Stalled => (
            "count(*)",
            "run",
            format!(
                "state IN ('queued', 'running', 'retrying') AND state = 'running' \
                 AND (hard_deadline_at < {database_now} OR NOT EXISTS \
                   (SELECT 1 FROM node n WHERE n.id = run.node_id AND n.state = 'alive'))"
            ),
        ),
        HealthFigure::PendingHandoffs => {
            ("sum(count)", "fire", "verdict = 'pending' AND claimed_by IS NOT NULL".to_owned())
        }
        HealthFigure::Unclaimed => (
            "count(*)",
            "schedule",
            format!(
                "enabled AND next_fire_at IS NOT NULL AND next_fire_at <= {} AND {BEFORE_PAUSE}",
                now.0
            ),
        ),
        HealthFigure::SelfPaused => ("count(*)", &*stopped, "paused_at IS NOT NULL".to_owned()),
    };
    let (id, at) = match counted {
        HealthFigure::Missed => ("schedule_id", "decided_at"),
        HealthFigure::Failed => ("schedule_id", "finished_at"),
        HealthFigure::Stalled => ("schedule_id", "coalesce(started_at, created_at)"),
        HealthFigure::PendingHandoffs => ("schedule_id", "claimed_at"),
        HealthFigure::Unclaimed => ("id", "next_fire_at"),
        HealthFigure::SelfPaused => ("schedule_id", "paused_at"),
    };
    // Among unclaimed schedules, the one that has waited longest is the worst.
    let order = if counted == HealthFigure::Unclaimed { "since" } else { "count DESC, since" };
    let sql = format!(
        "SELECT {id} AS schedule_id, CAST({what} AS bigint) AS count, min({at}) AS since \
         FROM {table} WHERE {which} AND {column} {home} AND {id} IS NOT NULL \
         GROUP BY {id} ORDER BY {order} LIMIT $1"
    );
    let statement = store.dialect().statement(sql, values);
    Ok(FigureCause::find_by_statement(statement).all(store.read()).await?)
}
