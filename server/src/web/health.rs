//! For load balancers, container platforms and those on call.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use super::{Web, refusal::Refusal};
use crate::{
    engine::health::Health,
    store::{health::Scope, namespaces},
};

/// The process answers.
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// It can do its work: the database answers.
pub(super) async fn ready(State(web): State<Web>) -> Response {
    match web.store.read().ping().await {
        Ok(()) => "ok\n".into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not answer");
            let text = "the database does not answer";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    }
}

/// `?tag=` and `?namespace=` narrow it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Narrow {
    tag: Option<String>,
    namespace: Option<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    status: &'static str,
    issues: &'a [String],
    checks: serde_json::Map<String, serde_json::Value>,
    version: &'a str,
    zone_data: &'a timetable::ZoneData,
    database: &'a str,
}

/// The schedules are kept: 200, or 503 with the issues.
pub(super) async fn health(State(web): State<Web>, narrow: Query<Narrow>) -> Response {
    let Query(Narrow { tag, namespace }) = narrow;
    match examine(&web, Scope { namespace, tag }).await {
        Ok(health) => {
            let status = if health.healthy {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            (status, Json(answer(&health))).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn examine(web: &Web, scope: Scope) -> Result<Health, Refusal> {
    let unreachable = |error: crate::store::StoreError| {
        tracing::error!(%error, "failed to judge the health");
        let text = "the database does not answer";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
    };
    // A watch on a namespace that is not there must not be told that all is well.
    if let Some(name) = &scope.namespace
        && namespaces::by_name(web.store.read(), name).await.map_err(unreachable)?.is_none()
    {
        let text = format!("there is no namespace {name:?}");
        return Err(Refusal::new(StatusCode::NOT_FOUND, text));
    }
    web.physician.examine(&scope).await.map_err(unreachable)
}

fn answer(health: &Health) -> Answer<'_> {
    let check = |check: &crate::engine::health::Check| {
        let figure = serde_json::json!({
            "healthy": check.healthy, "value": check.value, "limit": check.limit,
        });
        (check.name.to_owned(), figure)
    };
    Answer {
        status: if health.healthy { "healthy" } else { "unhealthy" },
        issues: &health.issues,
        checks: health.checks.iter().map(check).collect(),
        version: health.version,
        zone_data: &health.zone_data,
        database: health.database,
    }
}
