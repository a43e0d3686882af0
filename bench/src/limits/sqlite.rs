use std::time::Duration;

use anyhow::Result;
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use sea_orm::{ConnectionTrait, Value};
use uuid::Uuid;

/// Rows per second that the store's writer inserts, `batch` of them in each commit.
pub(super) async fn rows(url: &str, batch: u32, time: Duration) -> Result<f64> {
    let store = Store::open(&Options::new(url)).await?;
    let sql = insert(batch);
    let start = Clock::system().instant();
    let mut rows = 0;
    while start.elapsed() < time {
        let values = (0..batch).flat_map(|_| row());
        let tx = store.begin().await?;
        tx.execute_raw(store.dialect().statement(&sql, values)).await?;
        store.commit(tx).await?;
        rows += batch;
    }
    let rate = f64::from(rows) / start.elapsed().as_secs_f64();
    store.close().await?;
    Ok(rate)
}

const COLUMNS: [&str; 14] = [
    "id",
    "namespace_id",
    "schedule_id",
    "schedule_version",
    "scheduled_at",
    "due_at",
    "last_scheduled_at",
    "count",
    "kind",
    "verdict",
    "reason",
    "claimed_by",
    "claimed_at",
    "recovery_attempts",
];

fn insert(rows: u32) -> String {
    let row = format!("({})", ["?"; COLUMNS.len()].join(","));
    let rows = vec![row; rows as usize].join(",");
    format!("INSERT INTO fire ({}) VALUES {rows}", COLUMNS.join(", "))
}

fn row() -> [Value; COLUMNS.len()] {
    const AT: i64 = 1_763_719_200_000;
    [
        Uuid::now_v7().into(),
        Uuid::from_u128(1).into(),
        Uuid::now_v7().into(),
        1.into(),
        AT.into(),
        AT.into(),
        AT.into(),
        1_i64.into(),
        "normal".into(),
        "pending".into(),
        "awaiting_handoff".into(),
        Uuid::from_u128(2).into(),
        AT.into(),
        0.into(),
    ]
}
