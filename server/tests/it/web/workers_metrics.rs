//! The figures of workers and their queues in `/metrics`, before and after a worker leaves.

use std::time::Duration;

use entity::{Timestamp, job};
use sea_orm::{EntityTrait, Set};
use serde_json::json;

use super::workers::{Desk, task};
use crate::support::{TestDatabase, on_both};

on_both!(metrics_count_workers_and_the_queues_that_have_none);

const GAUGES: [&str; 4] = [
    "carillon_workers",
    "carillon_worker_jobs_waiting",
    "carillon_worker_jobs_held",
    "carillon_queues_without_worker",
];

async fn metrics_count_workers_and_the_queues_that_have_none(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    desk.run("nightly", task(json!({}))).await;
    desk.job(&worker).await;
    until(&desk, [1.0, 0.0, 1.0, 0.0]).await;

    // The worker does not know of the job, so the job returns to its queue.
    desk.ok("leave", json!({ "workerId": worker, "jobs": [] })).await;
    // Makes the job look as if it had waited for more than a minute.
    let tx = database.store.begin().await.unwrap();
    let row = job::ActiveModel { created_at: Set(Timestamp(0)), ..job::ActiveModel::default() };
    job::Entity::update_many().set(row).exec(&tx).await.unwrap();
    database.store.commit(tx).await.unwrap();
    until(&desk, [0.0, 1.0, 0.0, 1.0]).await;
}

/// Waits until the gauges have these values: the server counts again after a few seconds.
async fn until(desk: &Desk, expected: [f64; 4]) {
    let mut seen = [None; 4];
    let looks = async {
        while seen != expected.map(Some) {
            seen = gauges(desk).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), looks).await;
    waited.unwrap_or_else(|_| panic!("waited in vain for {expected:?} of {GAUGES:?}: {seen:?}"));
}

/// The values of the gauges, as far as the server has counted them.
async fn gauges(desk: &Desk) -> [Option<f64>; 4] {
    let scraped = desk.server.get("/metrics").send().await.unwrap().text().await.unwrap();
    let value = |line: &str, name: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    GAUGES.map(|name| scraped.lines().find_map(|line| value(line, name)))
}
