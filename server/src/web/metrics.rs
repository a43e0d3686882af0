//! Metrics for Prometheus.

use std::time::Duration;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use entity::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Web, refusal::Refusal};
use crate::{
    engine::{
        jobs::SILENT,
        maintenance::health::{JudgedBudget, examine, judged_budgets, queues_without_worker},
    },
    store::{
        StoreError,
        reads::{
            health::{self, HealthScope, figures},
            within::Within,
        },
        schedules,
        workers::queues,
    },
    telemetry::{BudgetSample, CanaryFire, Sampled, exposition},
};

/// Minimum interval between two counts in the database, because counting rows is too expensive for
/// each scrape.
pub(super) const FRESH: Duration = Duration::from_secs(10);
/// Interval of the counts in the database if metrics are exported, so that each export has new
/// figures.
const EXPORTED: Duration = Duration::from_secs(60);

/// Answers with all metrics.
pub(super) async fn scrape(State(web): State<Web>) -> Response {
    sample(&web).await;
    match exposition(web.telemetry.registry()) {
        Ok(text) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, text).into_response()
        }
        Err(error) => Refusal::internal(&error).into_response(),
    }
}

impl Web {
    /// Finds the schedules that have their own series. If metrics are exported to a collector, this
    /// also counts in the database periodically until `stop`; if they are only scraped, each scrape
    /// counts.
    pub async fn sample_until(self, stop: CancellationToken) {
        if let Err(error) = tell_apart(&self).await {
            tracing::warn!(%error, "failed to find the schedules of metrics.schedules");
        }
        while self.config.otlp.endpoint.is_some() {
            sample(&self).await;
            if stop.run_until_cancelled(self.clock.sleep(EXPORTED)).await.is_none() {
                return;
            }
        }
    }
}

/// Counts in the database, unless a count was made just now. A scrape does not wait for a slow
/// count, because the process's own figures matter most while the database does not answer. Until
/// the count is done, the last counts are reported.
async fn sample(web: &Web) {
    let metrics = web.telemetry.metrics();
    let zone_data = timetable::zone_data().version.to_string();
    metrics.runs_on(web.probed.dialect().name(), zone_data);
    let counted = web.clone();
    match web.counts.answer(|| async move { count(&counted).await }).await {
        Ok(sampled) => metrics.sampled(Some(sampled)),
        Err(_) if web.counts.is_waiting() => {}
        Err(_) => metrics.sampled(None),
    }
}

/// Looks the schedules up again, because one may have been created, or created again, since.
async fn tell_apart(web: &Web) -> Result<(), StoreError> {
    let paths = web.config.metrics.schedules.iter().filter_map(|path| path.split_once('/'));
    let found = schedules::by_paths(&web.probed, &paths.collect::<Vec<_>>()).await?;
    let named = found.into_iter().map(|found| (found.id, found.namespace, found.name));
    web.telemetry.metrics().tell_apart(named);
    Ok(())
}

async fn count(web: &Web) -> Result<Sampled, StoreError> {
    let (store, now) = (&web.probed, Timestamp::from(web.clock.now()));
    tell_apart(web).await?;
    let sizes = store.sizes(now).await?;
    let scope = HealthScope::default();
    let figures = figures(store, &scope, now).await?;
    let checks = examine(store, &web.clock, &web.cluster, &scope, &web.config.health).await?;
    let budgets = judged_budgets(store, &scope, now, &web.config.health).await?;
    let without_worker = queues_without_worker(store, &Within::All, now).await?.len();
    let self_paused = health::self_paused(store, &scope).await?.len();
    let load = queues::load(store, now, (now.utc() - SILENT).into()).await?;
    let canary = store.canary().await?.and_then(|canary| canary.due_at.zip(canary.finished_at));
    let count = |rows: i64| u64::try_from(rows).unwrap_or(0);
    Ok(Sampled {
        schedules: count(sizes.schedules),
        active: count(sizes.active),
        queued: count(sizes.queued),
        pending_handoffs: count(figures.pending_handoffs),
        workers: count(load.workers),
        jobs_waiting: count(load.waiting),
        jobs_held: count(load.held),
        queues_without_worker: u64::try_from(without_worker).unwrap_or(u64::MAX),
        self_paused: u64::try_from(self_paused).unwrap_or(u64::MAX),
        nodes: count(figures.nodes_alive),
        missed: count(figures.missed),
        oldest_unclaimed: Duration::from_millis(count(figures.oldest_unclaimed_ms.unwrap_or(0))),
        checks: checks.iter().map(|check| (check.name, check.healthy)).collect(),
        budgets: budgets.iter().flat_map(samples).collect(),
        canary: canary.map(|(due_at, finished_at)| CanaryFire {
            due_at: due_at.utc(),
            latency: Duration::from_millis(count(finished_at.0 - due_at.0)),
        }),
    })
}

/// The figures of a budget that have a limit. Latenesses are in seconds, the others are counts.
fn samples(budget: &JudgedBudget) -> Vec<BudgetSample> {
    let sample = |name: &'static str, value: i64, limit: i64| {
        let unit = if name == "late" { 1_000.0 } else { 1.0 };
        BudgetSample {
            namespace: budget.measured.namespace.clone(),
            tag: budget.measured.tag.clone(),
            figure: name,
            value: value as f64 / unit,
            limit: limit as f64 / unit,
        }
    };
    let limited = budget.figures().into_iter().filter_map(|figure| {
        let limit = figure.limit?;
        Some(sample(figure.name, figure.value.unwrap_or(0), limit))
    });
    limited.collect()
}
