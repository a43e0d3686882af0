//! For load balancers, container platforms and those on call.

use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Web, auth::Asking, refusal::Refusal, watch};
use crate::{
    engine::health::{Check, examine},
    store::{Refusing, StoreError, namespaces, reads::health::Scope},
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

/// The schedules are kept: 200, or 503 with the issues. Whoever is known for what they ask about is
/// told names, others figures and codes; where the instruments are closed, strangers learn whether
/// all is well and nothing else.
pub(super) async fn health(
    State(web): State<Web>,
    Extension(asking): Extension<Asking>,
    narrow: Result<Query<Narrow>, QueryRejection>,
) -> Response {
    let narrow = match narrow {
        Ok(Query(narrow)) => narrow,
        Err(rejection) => {
            let text = format!("{}; 'tag' and 'namespace' narrow it", rejection.body_text());
            return Refusal::new(StatusCode::BAD_REQUEST, text).into_response();
        }
    };
    match look(&web, &asking, narrow).await {
        Ok((checks, sight)) => {
            let healthy = checks.iter().all(|check| check.healthy);
            let status = if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (status, Json(answer(&web, healthy, &checks, sight))).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// How much of it somebody is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// Whether all is well.
    Word,
    /// Figures, and sentences without names.
    Figures,
    /// All of it.
    Names,
}

async fn look(web: &Web, asking: &Asking, narrow: Narrow) -> Result<(Vec<Check>, Sight), Refusal> {
    let limits = web.config.health.within(narrow.namespace.as_deref(), narrow.tag.as_deref());
    let is_narrowed = narrow.namespace.is_some() || narrow.tag.is_some();
    if is_narrowed {
        web.watch.admit(asking)?;
    }
    let namespace = match narrow.namespace {
        None => None,
        // A watch on a namespace that is not there must not be told that all is well.
        Some(name) => {
            let found = namespaces::by_name(web.store.read(), &name).await;
            let found = found.map_err(|error| unreachable(web, &error))?.map(|row| row.id);
            // Nor is there one for those who have no role in it.
            let found = found.filter(|id| web.watch.is_open() || asking.knows(Some(*id)));
            let missing = format!("there is no namespace {name:?}");
            Some(found.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, missing))?)
        }
    };
    let sight = match (asking.knows(namespace), web.watch.is_open()) {
        (true, _) => Sight::Names,
        (false, true) => Sight::Figures,
        (false, false) if is_narrowed => return Err(watch::no_role_everywhere()),
        (false, false) => Sight::Word,
    };
    let scope = Scope { namespace, tag: narrow.tag };
    let checked = examine(&web.store, &web.clock, &web.cluster, &scope, &limits).await;
    Ok((checked.map_err(|error| unreachable(web, &error))?, sight))
}

fn unreachable(web: &Web, error: &StoreError) -> Refusal {
    if matches!(error, StoreError::Nul) {
        return Refusal::new(StatusCode::BAD_REQUEST, "a value has a NUL character; remove it");
    }
    tracing::error!(%error, "failed to judge the health");
    let text = web.store.refusing().map_or("the database does not answer", Refusing::problem);
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
}

#[derive(Serialize)]
struct Answer<'a> {
    status: &'static str,
    issues: Vec<&'a str>,
    #[serde(flatten)]
    more: Option<More>,
}

/// What strangers are not shown where the instruments are closed.
#[derive(Serialize)]
struct More {
    checks: Map<String, Value>,
    version: &'static str,
    zone_data: timetable::ZoneData,
    database: &'static str,
}

fn answer<'a>(web: &Web, healthy: bool, checks: &'a [Check], sight: Sight) -> Answer<'a> {
    let figure = |check: &Check| json!({ "healthy": check.healthy, "value": check.value, "limit": check.limit });
    let status = if healthy { "healthy" } else { "unhealthy" };
    let is_known = match sight {
        Sight::Word => {
            let issue = (!healthy).then_some("what is wrong is told to whoever is known");
            return Answer { status, issues: issue.into_iter().collect(), more: None };
        }
        Sight::Figures => false,
        Sight::Names => true,
    };
    let more = More {
        checks: checks.iter().map(|check| (check.name.to_owned(), figure(check))).collect(),
        version: env!("CARGO_PKG_VERSION"),
        zone_data: timetable::zone_data(),
        database: web.store.dialect().name(),
    };
    let issues = checks.iter().filter_map(|check| check.issue_for(is_known)).collect();
    Answer { status, issues, more: Some(more) }
}
