//! Health endpoints for load balancers, container platforms and on-call staff.

use std::time::Duration;

use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use chrono::SecondsFormat;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Web,
    auth::{Credential, Requester},
    memory::Silent,
    refusal::Refusal,
    watch,
};
use crate::{
    engine::maintenance::health::{Check, examine},
    store::{
        StoreError, WriteRefusal, namespaces,
        reads::{
            health::{HealthScope, has_tag},
            within::Within,
        },
    },
};

/// Timeout for the checks of a namespace or tag, which are not cached.
const PATIENCE: Duration = Duration::from_millis(700);

/// Answers that the process is alive.
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// Answers whether the process can do its work: the database responds, and the process is not
/// shutting down.
pub(super) async fn ready(State(web): State<Web>) -> Response {
    if web.draining.is_cancelled() {
        return Refusal::stopping().into_response();
    }
    match ping(&web).await {
        Ok(()) => "ok\n".into_response(),
        Err(silent) => {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, silence(silent)).into_response()
        }
    }
}

async fn ping(web: &Web) -> Result<(), Silent> {
    let store = web.probed.clone();
    web.database.answer(|| async move { store.read().ping().await }).await
}

/// The health of all namespaces; the remembered result if the database does not answer at once.
async fn checks(web: &Web) -> Result<Vec<Check>, Silent> {
    let asked = web.clone();
    let examined = async move {
        let limits = &asked.config.health;
        examine(&asked.probed, &asked.clock, &asked.cluster, &HealthScope::default(), limits).await
    };
    web.health.answer(|| examined).await
}

/// Refreshes the known state of the database and, if `is_judged`, of the health.
pub(super) async fn refresh(web: &Web, is_judged: bool) {
    // The result is kept in memory.
    let _ = ping(web).await;
    if is_judged {
        let _ = checks(web).await;
    }
}

/// The parameters `?tag=` and `?namespace=`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Narrow {
    tag: Option<String>,
    namespace: Option<String>,
}

/// Answers whether schedules are being fired: 200, or 503 with the issues. Callers with access to
/// the requested part see names; others only see figures and codes. If the endpoints are closed,
/// unauthenticated callers only learn whether all is well. Only callers with access may ask about
/// one namespace or tag, because others would learn which ones exist.
pub(super) async fn health(
    State(web): State<Web>,
    Extension(asking): Extension<Requester>,
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

/// How much a caller may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// A single word that says whether all is well.
    Word,
    /// Figures, and sentences without names.
    Figures,
    /// Everything, including names.
    Names,
}

async fn look(
    web: &Web,
    asking: &Requester,
    narrow: Narrow,
) -> Result<(Vec<Check>, Sight), Refusal> {
    let is_stranger = asking.viewer.is_none() && !asking.watches();
    let sight = match (asking.knows(None), web.watch.is_open()) {
        (true, _) => Sight::Names,
        (false, true) => Sight::Figures,
        (false, false) => Sight::Word,
    };
    if narrow.namespace.is_none() && narrow.tag.is_none() {
        let checks = checks(web).await;
        return Ok((checks.unwrap_or_else(|silent| silent_checks(web, silent)), sight));
    }
    if is_stranger {
        // A caller with a credential may be unrecognised only because the database is down, and
        // must learn that it is.
        let shows_something = !matches!(asking.credential, Credential::None);
        if let Some(silent) = known_silence(web).filter(|_| shows_something) {
            return Ok((silent_checks(web, silent), sight));
        }
        return Err(watch::closed());
    }
    if asking.must_change_password() {
        return Err(Refusal::password_change());
    }
    let Some(_place) = web.narrowed.try_enter(asking.caller()) else {
        let text = "the health of too many namespaces and tags is requested at once";
        return Err(Refusal::too_many(text, 1));
    };
    let at = web.clock.now();
    // The timeout runs in real time, not on the application's clock.
    let clock = crate::clock::Clock::system();
    match clock.timeout(PATIENCE, judged(web, asking, narrow)).await {
        Ok(judged) => judged,
        Err(_) => {
            let silent = known_silence(web).unwrap_or(Silent { since: at });
            Ok((silent_checks(web, silent), sight))
        }
    }
}

/// The start of the silence, if the database does not answer one of the probes' queries.
fn known_silence(web: &Web) -> Option<Silent> {
    web.database.silence().or_else(|| web.health.silence())
}

/// The health of a namespace or tag, for a caller with access.
async fn judged(
    web: &Web,
    asking: &Requester,
    narrow: Narrow,
) -> Result<(Vec<Check>, Sight), Refusal> {
    let limits = web.config.health.within(narrow.namespace.as_deref(), narrow.tag.as_deref());
    let namespace = match narrow.namespace {
        None => None,
        // A monitor of a namespace that does not exist must not report that all is well.
        Some(name) => {
            let found = namespaces::by_name(web.probed.read(), &name).await;
            let found = found.map_err(|error| unreachable(web, &error))?.map(|row| row.id);
            // To a caller without a role in the namespace, the namespace must seem not to exist
            // either.
            let found = found.filter(|id| asking.knows(Some(*id)));
            let missing = format!("there is no namespace {name:?}");
            Some(found.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, missing))?)
        }
    };
    let sight = sight_of(web, asking, namespace)?;
    let is_configured =
        narrow.tag.as_ref().is_some_and(|tag| web.config.health.tags.contains_key(tag));
    let scope = HealthScope { within: namespace.map_or(Within::All, Within::One), tag: narrow.tag };
    // To such a caller, a monitored tag that no schedule of their namespaces has must seem not to
    // exist either.
    if !is_configured {
        let known = HealthScope { within: known_to(asking, &scope), tag: scope.tag.clone() };
        let has = has_tag(&web.probed, &known).await.map_err(|error| unreachable(web, &error))?;
        if !has {
            let tag = scope.tag.unwrap_or_default();
            let missing = format!("no schedule has the tag {tag:?}");
            return Err(Refusal::new(StatusCode::NOT_FOUND, missing));
        }
    }
    let checked = examine(&web.probed, &web.clock, &web.cluster, &scope, &limits).await;
    Ok((checked.map_err(|error| unreachable(web, &error))?, sight))
}

/// The part of a scope whose schedules exist for the caller.
fn known_to(asking: &Requester, scope: &HealthScope) -> Within {
    match (&scope.within, &asking.viewer) {
        (Within::All, Some(viewer)) if !asking.knows(None) => {
            Within::Some(viewer.grants.namespaces().map(|(id, _)| id).collect())
        }
        (within, _) => within.clone(),
    }
}

fn sight_of(web: &Web, asking: &Requester, namespace: Option<Uuid>) -> Result<Sight, Refusal> {
    match (asking.knows(namespace), web.watch.is_open()) {
        (true, _) => Ok(Sight::Names),
        (false, true) => Ok(Sight::Figures),
        (false, false) => Err(watch::no_role_everywhere()),
    }
}

/// The known checks while the database does not answer.
fn silent_checks(web: &Web, silent: Silent) -> Vec<Check> {
    let check = |name, value: &str, issue| Check {
        name,
        healthy: false,
        value: value.to_owned(),
        limit: None,
        issue: Some(issue),
        bare: None,
        nodes: vec![],
    };
    let mut checks = vec![check("database", "silent", silence(silent))];
    let refusing = web.probed.refusing().map(WriteRefusal::problem);
    checks.extend(refusing.map(|problem| check("writes", "refused", problem.to_owned())));
    checks
}

fn silence(Silent { since }: Silent) -> String {
    let since = since.to_rfc3339_opts(SecondsFormat::Secs, true);
    format!("the database does not answer since {since}")
}

fn unreachable(web: &Web, error: &StoreError) -> Refusal {
    if matches!(error, StoreError::Nul) {
        return Refusal::new(StatusCode::BAD_REQUEST, "a value has a NUL character; remove it");
    }
    let text = web.probed.refusing().map_or("the database does not answer", WriteRefusal::problem);
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
}

#[derive(Serialize)]
struct HealthBody<'a> {
    status: &'static str,
    issues: Vec<&'a str>,
    #[serde(flatten)]
    more: Option<HealthDetails>,
}

/// The details that unauthenticated callers do not see if the endpoints are closed.
#[derive(Serialize)]
struct HealthDetails {
    checks: Map<String, Value>,
    version: &'static str,
    zone_data: timetable::ZoneData,
    database: &'static str,
}

fn answer<'a>(web: &Web, healthy: bool, checks: &'a [Check], sight: Sight) -> HealthBody<'a> {
    let figure = |check: &Check| json!({ "healthy": check.healthy, "value": check.value, "limit": check.limit });
    let status = if healthy { "healthy" } else { "unhealthy" };
    let is_known = match sight {
        Sight::Word => {
            let issue = (!healthy).then_some("sign in to see what is wrong");
            return HealthBody { status, issues: issue.into_iter().collect(), more: None };
        }
        Sight::Figures => false,
        Sight::Names => true,
    };
    let more = HealthDetails {
        checks: checks.iter().map(|check| (check.name.to_owned(), figure(check))).collect(),
        version: env!("CARGO_PKG_VERSION"),
        zone_data: timetable::zone_data(),
        database: web.probed.dialect().name(),
    };
    let issues = checks.iter().filter_map(|check| check.issue_for(is_known)).collect();
    HealthBody { status, issues, more: Some(more) }
}
