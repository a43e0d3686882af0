//! Measures the delays of a timer and of a commit, which every fire needs, while fires are going
//! on.

use std::time::Duration;

use anyhow::{Context, Result};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use sea_orm::ConnectionTrait;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::spread::percentile;

/// The interval of the probes: short enough for a 99th percentile over half a minute, and long
/// enough to cause no load.
const EVERY: Duration = Duration::from_millis(50);

/// Two tasks that measure until they are stopped.
#[derive(Debug)]
pub(super) struct Probes {
    stop: CancellationToken,
    timer: JoinHandle<Vec<Duration>>,
    commit: JoinHandle<Result<Vec<Duration>>>,
}

/// 99th percentiles of the delays, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) timer_p99_ms: f64,
    pub(super) commit_p99_ms: f64,
}

impl Probes {
    /// Starts the probes. Their commits go to the database `beside`, to which nothing else writes.
    /// So they wait for the disk like the engine's commits do, but not for the engine.
    pub(super) async fn start(clock: &Clock, beside: &str) -> Result<Self> {
        let store = Store::open(&Options::new(beside)).await?;
        store.read().execute_unprepared("CREATE TABLE probe (number BIGINT)").await?;
        let stop = CancellationToken::new();
        let timer = tokio::spawn(timer(clock.clone(), stop.clone()));
        let commit = tokio::spawn(commit(clock.clone(), store, stop.clone()));
        Ok(Self { stop, timer, commit })
    }

    /// Stops the probes, and returns their results.
    pub(super) async fn stop(self) -> Result<Found> {
        self.stop.cancel();
        let p99 = |mut times: Vec<Duration>| {
            times.sort_unstable();
            let time = percentile(&times, 99).context("nothing was probed: measure for longer")?;
            anyhow::Ok(time.as_secs_f64() * 1_000.0)
        };
        Ok(Found {
            timer_p99_ms: p99(self.timer.await?)?,
            commit_p99_ms: p99(self.commit.await??)?,
        })
    }
}

/// Measures the delay of a timer beyond the requested time.
async fn timer(clock: Clock, stop: CancellationToken) -> Vec<Duration> {
    let mut times = Vec::new();
    while !stop.is_cancelled() {
        let asked = clock.instant();
        clock.sleep(EVERY).await;
        times.push(asked.elapsed().saturating_sub(EVERY));
    }
    times
}

/// Measures how long a commit of one row takes.
async fn commit(clock: Clock, store: Store, stop: CancellationToken) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !stop.is_cancelled() {
        clock.sleep(EVERY).await;
        let began = clock.instant();
        let tx = store.begin().await?;
        tx.execute_unprepared("INSERT INTO probe (number) VALUES (1)").await?;
        store.commit(tx).await?;
        times.push(began.elapsed());
    }
    store.close().await?;
    Ok(times)
}
