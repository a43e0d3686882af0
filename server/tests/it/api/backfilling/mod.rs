//! Backfills over GraphQL.
//!
//! - `previewing`: what a backfill would run
//! - `ordering`: creating, pausing, resuming, cancelling and listing them

mod ordering;
mod previewing;

use entity::{
    Timestamp,
    fire::{self, Reason, Verdict},
};
use sea_orm::{ActiveModelTrait, ConnectionTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::fire_row;

const PREVIEW: &str = "query($id: UUID!, $from: DateTime!, $to: DateTime!,
    $mode: BackfillMode = MISSING, $first: Int = 50, $after: String,
    $selected: Boolean = false, $standing: BackfillStanding) {
    previewBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode) {
        total missing succeeded failed live suppressed selected
        fires(first: $first, after: $after, selectedOnly: $selected, standing: $standing) {
            nodes { at local offset kind standing selected fire { verdict count } }
            pageInfo { hasNextPage endCursor }
        } } }";

const ORDER: &str = "mutation($id: UUID!, $from: DateTime!, $to: DateTime!,
    $mode: BackfillMode = MISSING, $order: BackfillOrder = OLDEST_FIRST, $concurrency: Int = 1,
    $reason: String!, $context: JSON, $key: String) {
    createBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode, order: $order,
        concurrency: $concurrency, reason: $reason, context: $context, idempotencyKey: $key) {
        backfill {
            id state mode order concurrency from to reason context createdBy createdAt finishedAt
            schedule { name } scheduleVersion pause { by } cancel { by }
            progress { total pending running succeeded failed cancelled skipped }
            fires { nodes { position scheduledAt local state run { id } } }
        } } }";

fn window(id: &str, from: &str, to: &str) -> Value {
    let day = |time: &str| format!("2026-03-01T{time}:00Z");
    json!({ "id": id, "from": day(from), "to": day(to), "reason": "the receiver was down" })
}

fn with(mut variables: Value, more: Value) -> Value {
    variables.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    variables
}

async fn write(desk: &Desk, sql: &str, values: Vec<sea_orm::Value>) {
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    tx.execute_raw(store.dialect().statement(sql, values)).await.unwrap();
    store.commit(tx).await.unwrap();
}

/// A run for an instant of 1 March, in a given state.
async fn run_of(desk: &Desk, schedule: &str, time: &str, state: &str) -> Uuid {
    let query = "mutation($id: UUID!, $at: DateTime!) {
        triggerSchedule(id: $id, asOf: $at) { run { id } } }";
    let at = format!("2026-03-01T{time}:00Z");
    let answer = desk.ask(query, json!({ "id": schedule, "at": at })).await;
    let run: Uuid = answer["triggerSchedule"]["run"]["id"].as_str().unwrap().parse().unwrap();
    let sql = "UPDATE run SET state = $2 WHERE id = $1";
    write(desk, sql, vec![run.into(), state.into()]).await;
    run
}

/// A ledger row that covers a number of hours.
async fn fire_at(desk: &Desk, schedule: &str, hour: i64, count: i64, verdict: Verdict) {
    let at = Timestamp(super::desk::noon().timestamp_millis() + (hour - 12) * 3_600_000);
    let row = fire::Model {
        last_scheduled_at: Timestamp(at.0 + (count - 1) * 3_600_000),
        count,
        verdict,
        reason: Reason::Outage,
        ..fire_row(Uuid::nil(), schedule.parse().unwrap(), at)
    };
    let tx = desk.database.store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
}

/// The hours of a day: 04 lies in a range; 05 missed, 06 succeeded, 07 failed, 08 failed and then
/// succeeded, 09 live, 10 pending, 11 without a row.
async fn lived(desk: &Desk) -> String {
    let id = desk.schedule("tick", "@hourly").await;
    fire_at(desk, &id, 2, 3, Verdict::Skipped).await;
    fire_at(desk, &id, 5, 1, Verdict::Missed).await;
    run_of(desk, &id, "06:00", "succeeded").await;
    let failed = run_of(desk, &id, "07:00", "failed").await;
    fire_at(desk, &id, 7, 1, Verdict::Started).await;
    let sql = "UPDATE fire SET run_id = $1 WHERE verdict = 'started'";
    write(desk, sql, vec![failed.into()]).await;
    run_of(desk, &id, "08:00", "timed_out").await;
    run_of(desk, &id, "08:00", "succeeded").await;
    run_of(desk, &id, "09:00", "retrying").await;
    fire_at(desk, &id, 10, 1, Verdict::Pending).await;
    id
}
