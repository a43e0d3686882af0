//! Warms a new connection before it is used.
//!
//! A new PostgreSQL session has no metadata of tables.
//! Its first statement about the ledger loads the metadata of the table, of each named day
//! and of their indexes, which takes longer than the statement itself.
//! In a storm, each cold connection would do so between the scheduled instant and the first fires.

use chrono::{DateTime, Utc};
use entity::Timestamp;
use sea_orm::sqlx::{self, PgConnection};

use crate::store::db::days::{DAY_MS, DayRange, first_key};

/// Loads the metadata of the tables that a fire passes through, for the days around `now`.
/// If this fails, the connection is only slower.
pub(super) async fn warm(connection: &mut PgConnection, now: DateTime<Utc>) {
    if let Err(error) = look(connection, now.timestamp_millis()).await {
        tracing::debug!(%error, "failed to warm a connection");
    }
}

async fn look(connection: &mut PgConnection, now: i64) -> Result<(), sqlx::Error> {
    let has_tables = "SELECT to_regclass('task_run') IS NOT NULL";
    let has_tables = sqlx::query_scalar(has_tables).persistent(false);
    if has_tables.fetch_one(&mut *connection).await? {
        let statement = statement([now - DAY_MS, now + DAY_MS]);
        // Both statements are sent as one, so the timeout ends with it.
        // Warming must not wait for table locks.
        let statement = format!("SET LOCAL lock_timeout = '100ms'; {statement}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(connection).await?;
    }
    Ok(())
}

/// A statement that reads no row, but whose planning opens all tables that it names.
fn statement(range: [i64; 2]) -> String {
    let by_key = |column| DayRange::of_keys(column, range.map(first_key).into_iter()).condition();
    let instants = range.map(Timestamp).into_iter();
    let fires = DayRange::of_instants("fire.scheduled_at", instants).condition();
    let (runs, attempts) = (by_key("run.id"), by_key("task_run.run_id"));
    format!(
        "SELECT (SELECT true FROM fire WHERE true{fires} LIMIT 0), \
           (SELECT true FROM run WHERE true{runs} LIMIT 0), \
           (SELECT true FROM task_run WHERE true{attempts} LIMIT 0), \
           (SELECT true FROM schedule JOIN workflow ON workflow.id = schedule.workflow_id \
             JOIN namespace ON namespace.id = schedule.namespace_id LIMIT 0), \
           (SELECT true FROM node LIMIT 0)"
    )
}
