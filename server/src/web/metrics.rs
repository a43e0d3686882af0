//! For Prometheus.

use std::time::{Duration, Instant};

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use entity::Timestamp;
use tokio::sync::Mutex;

use super::{Web, refusal::Refusal};
use crate::telemetry::exposition;

/// Counting rows is no work for each scrape.
const FRESH: Duration = Duration::from_secs(10);

/// When the gauges that are counted in the database were last set.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    last: Mutex<Option<Instant>>,
}

/// Everything that the instruments say.
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

/// Sets the gauges that are counted in the database, unless they were set just now.
async fn sample(web: &Web) {
    let mut last = web.sampler.last.lock().await;
    let now = web.clock.instant();
    if last.is_some_and(|last| now.duration_since(last) < FRESH) {
        return;
    }
    // A scrape of what the process knows itself must work without the database.
    match web.store.sizes(Timestamp::from(web.clock.now())).await {
        Ok(sizes) => {
            let count = |rows: i64| u64::try_from(rows).unwrap_or(0);
            let metrics = web.telemetry.metrics();
            metrics.schedules(count(sizes.schedules), count(sizes.active));
            metrics.queue_depth(count(sizes.queued));
            *last = Some(now);
        }
        Err(error) => tracing::warn!(%error, "failed to count the schedules"),
    }
}
