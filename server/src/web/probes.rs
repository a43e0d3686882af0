//! The endpoints that answer even if everything else fails: `/livez`, `/readyz`, `/healthz` and
//! `/metrics`. They have reserved places on the main port, their own runtime, and their own
//! listener if `watch.listen` is set. They answer until the process ends.

use std::time::Duration;

use axum::{
    Router,
    http::StatusCode,
    middleware::{from_fn, from_fn_with_state},
    routing::get,
};
use tokio_util::sync::CancellationToken;

use super::{Web, auth, headers, health, metrics, refusal::Refusal, router::sessions, watch};

/// The paths of the probes.
const PATHS: [&str; 4] = ["/livez", "/readyz", "/healthz", "/metrics"];
/// Interval for checking that the database answers, if nothing else queries it.
const PING: Duration = Duration::from_secs(2);
/// A check of the health follows after this many database checks.
const PINGS: u32 = 5;

/// Whether this is the path of a probe.
pub(super) fn is_one(path: &str) -> bool {
    PATHS.contains(&path)
}

/// The routes of the probes.
pub(super) fn routes(web: &Web) -> Router<Web> {
    // Callers with access see more than unauthenticated callers.
    let health = Router::new()
        .route("/healthz", get(health::health))
        .layer(from_fn_with_state(web.clone(), auth::recognize))
        .layer(sessions(web));
    Router::new()
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .merge(health)
        .merge(instruments(web))
        .layer(from_fn(headers::never_stored))
}

/// The routes of the metrics. If they are open to everyone, the caller is not identified, so that a
/// scrape does not wait for the database.
fn instruments(web: &Web) -> Router<Web> {
    let open = Router::new().route("/metrics", get(metrics::scrape));
    match web.watch.is_open() {
        true => open,
        false => open
            .layer(from_fn(watch::guard))
            .layer(from_fn_with_state(web.clone(), auth::recognize))
            .layer(sessions(web)),
    }
}

/// Refuses all other paths on a listener for probes.
pub(super) async fn nothing_else() -> Refusal {
    let text = "this port is for probes (watch.listen): /livez, /readyz, /healthz and /metrics; the \
                rest is at the port of the setting 'listen'";
    Refusal::new(StatusCode::NOT_FOUND, text)
}

impl Web {
    /// Keeps the answers of probes fresh in memory, and logs counted refusals, until `stop`.
    pub async fn watch_until(self, stop: CancellationToken) {
        let mut round = 0_u32;
        loop {
            health::refresh(&self, round.is_multiple_of(PINGS)).await;
            self.refusals.flush();
            round = round.wrapping_add(1);
            if stop.run_until_cancelled(self.clock.sleep(PING)).await.is_none() {
                return;
            }
        }
    }
}
