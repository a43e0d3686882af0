//! For load balancers, container platforms and those on call.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Web, refusal::Refusal};
use crate::{
    engine::health::{Check, examine as examine_all},
    store::{StoreError, namespaces, reads::health::Scope},
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

/// The schedules are kept: 200, or 503 with the issues.
pub(super) async fn health(
    State(web): State<Web>,
    narrow: Result<Query<Narrow>, QueryRejection>,
) -> Response {
    let narrow = match narrow {
        Ok(Query(narrow)) => narrow,
        Err(rejection) => {
            let text = format!("{}; 'tag' and 'namespace' narrow it", rejection.body_text());
            return Refusal::new(StatusCode::BAD_REQUEST, text).into_response();
        }
    };
    match examine(&web, narrow).await {
        Ok(checks) => {
            let healthy = checks.iter().all(|check| check.healthy);
            let status = if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (status, Json(answer(&web, healthy, &checks))).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn examine(web: &Web, narrow: Narrow) -> Result<Vec<Check>, Refusal> {
    let unreachable = |error: StoreError| {
        if matches!(error, StoreError::Nul) {
            return Refusal::new(StatusCode::BAD_REQUEST, "a value has a NUL character; remove it");
        }
        tracing::error!(%error, "failed to judge the health");
        let text = "the database does not answer";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
    };
    let namespace = match narrow.namespace {
        None => None,
        // A watch on a namespace that is not there must not be told that all is well.
        Some(name) => {
            let found = namespaces::by_name(web.store.read(), &name).await.map_err(unreachable)?;
            let missing = format!("there is no namespace {name:?}");
            let found = found.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, missing))?;
            Some(found.id)
        }
    };
    let scope = Scope { namespace, tag: narrow.tag };
    let checked = examine_all(&web.store, &web.clock, &web.cluster, &scope, &web.config.health);
    checked.await.map_err(unreachable)
}

#[derive(Serialize)]
struct Answer<'a> {
    status: &'static str,
    issues: Vec<&'a str>,
    checks: Map<String, Value>,
    version: &'static str,
    zone_data: timetable::ZoneData,
    database: &'static str,
}

fn answer<'a>(web: &Web, healthy: bool, checks: &'a [Check]) -> Answer<'a> {
    let figure = |check: &Check| json!({ "healthy": check.healthy, "value": check.value, "limit": check.limit });
    Answer {
        status: if healthy { "healthy" } else { "unhealthy" },
        issues: checks.iter().filter_map(|check| check.issue.as_deref()).collect(),
        checks: checks.iter().map(|check| (check.name.to_owned(), figure(check))).collect(),
        version: env!("CARGO_PKG_VERSION"),
        zone_data: timetable::zone_data(),
        database: web.store.dialect().name(),
    }
}
