use std::{borrow::Cow, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{CompressionLayer, predicate::SizeAbove},
    trace::TraceLayer,
};
use tower_sessions::{Expiry, SessionManagerLayer, cookie::SameSite};

use super::{
    Web, audit, auth,
    auth::SessionStore,
    body, calendar, console, cross_origin, explorer, graphql, graphql_response, headers, hosts,
    probes,
    refusal::Refusal,
    refusals::{RefusalKind, cut},
    same_origin, workers,
};
use crate::{
    clock::Clock,
    config::{Config, NodeRole},
};

/// Maximum size of a body for `/graphql`. A module file may be large.
const GRAPHQL_BODY: usize = 4 * 1024 * 1024;
/// Maximum size of a body from an unauthenticated caller, who is only asked to sign in: enough for
/// the largest document and its variables.
const STRANGERS_BODY: usize = 16 * 1024;
/// Maximum size of a body for sign-in: enough for a name and a password.
const AUTH_BODY: usize = 4 * 1024;
/// Minimum size of a compressed answer, in bytes: a smaller one fits into one packet anyway.
const COMPRESSED_FROM: u64 = 1_024;
/// Timeout of a request and of its body.
const PATIENCE: Duration = Duration::from_secs(30);

/// All routes.
pub fn router(web: Web) -> Router {
    // The body has been read and measured before the time for the response begins, so the
    // extractors need no limits of their own.
    let large_bodies = body::large_bodies();
    let limits = |max, max_of_strangers| {
        let (patience, clock, large) = (PATIENCE, web.clock.clone(), large_bodies.clone());
        let bodies = body::Bodies { max, max_of_strangers, patience, clock, large };
        let read = from_fn_with_state(bodies, body::read);
        (read, from_fn(in_time), DefaultBodyLimit::disable())
    };
    let by_get = (from_fn(in_time), from_fn_with_state(web.clone(), graphql::by_get));
    let graphql = post(graphql::execute)
        .layer(limits(GRAPHQL_BODY, STRANGERS_BODY))
        .merge(get(graphql::subscribe).layer(by_get));
    // Preflight requests have their own route. The response to other methods is set for the whole
    // router, outside the layer that allows other origins.
    let graphql = match web.config.api.cors_origins.is_empty() {
        true => graphql,
        false => graphql.options(other_method),
    };
    let graphql =
        Router::new().route("/graphql", graphql).route("/graphql/ws", get(graphql::subscribe));
    let identified = Router::new()
        .route("/auth/login", post(auth::login).layer(limits(AUTH_BODY, AUTH_BODY)))
        .route("/auth/logout", post(auth::logout).layer(limits(AUTH_BODY, AUTH_BODY)))
        .route("/auth/methods", get(auth::methods))
        .route("/auth/oidc/login", get(auth::begin))
        .route("/auth/oidc/callback", get(auth::callback))
        .route("/audit/export", get(audit::export))
        .route("/worker/v1/{word}", post(workers::word).layer(limits(workers::BODY, AUTH_BODY)));
    // The caller is identified before anything is answered.
    let known = |routes: Router<Web>| {
        routes.layer((
            from_fn_with_state(web.clone(), same_origin::guard),
            sessions(&web),
            from_fn_with_state(web.clone(), auth::identify),
        ))
    };
    let (identified, graphql) = (known(identified), known(graphql));
    // An allowed page of another origin must be able to read why it is refused, too.
    let graphql = match cross_origin::layer(&web.config.api) {
        Some(layer) => graphql.layer(layer),
        None => graphql,
    };
    let identified = identified.merge(graphql).layer(compression());
    let roles = web.config.node.roles;
    let router = if roles.has(NodeRole::Api) {
        let calendar = Router::new()
            .route("/calendar.ics", get(calendar::feed))
            .route("/badge.svg", get(calendar::picture))
            .route("/badge.json", get(calendar::endpoint))
            .layer(from_fn(in_time));
        identified
            .merge(explorer::routes())
            .merge(calendar)
            .layer(from_fn(headers::never_stored))
            .fallback(console::serve)
    } else {
        Router::new().fallback(no_api)
    };
    finished(router.merge(probes::routes(&web)), web)
}

/// The routes of a listener for probes.
pub fn probe_router(web: Web) -> Router {
    finished(Router::new().fallback(probes::nothing_else).merge(probes::routes(&web)), web)
}

/// The layers for all requests.
fn finished(router: Router<Web>, web: Web) -> Router {
    router
        .method_not_allowed_fallback(other_method)
        .layer((
            from_fn(graphql_response::with_errors),
            from_fn_with_state(web.clone(), headers::secure),
            TraceLayer::new_for_http().make_span_with(span).on_failure(()),
            from_fn_with_state(web.clone(), noticed),
            // A panic ends its request, not the connection. It is logged where it happened.
            CatchPanicLayer::custom(|_| Refusal::defect().into_response()),
            from_fn_with_state(web.clone(), hosts::guard),
        ))
        .with_state(web)
}

/// Compresses answers that are large enough, for clients that accept compression. The console's
/// files are already compressed.
fn compression() -> CompressionLayer<SizeAbove> {
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(COMPRESSED_FROM))
}

/// Logs the path of a request that could not be answered. A probe's 503 is a valid response.
async fn noticed(State(web): State<Web>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let path = (!probes::is_one(path)).then(|| path.to_owned());
    let response = next.run(request).await;
    if let Some(path) = path
        && response.status().is_server_error()
    {
        web.refusals.note(RefusalKind::Failed, &format!("{path}: {}", response.status()));
    }
    response
}

/// The refusal of a node without the role `api`, which only answers probes.
async fn no_api() -> Refusal {
    let text = "this node does not have the role 'api'; ask one that does (node.roles)";
    Refusal::new(StatusCode::NOT_FOUND, text)
}

/// The refusal of a wrong method. The router lists the permitted methods in the header `Allow`.
async fn other_method() -> Refusal {
    let text = "this address does not accept that method; the header 'Allow' lists those that it \
                accepts";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text)
}

/// Answers for a request that takes too long. The work of the request is dropped, and its
/// transaction is rolled back as a result. Bulk requests return in time on their own.
async fn in_time(request: Request, next: Next) -> Response {
    let answer = Clock::system().timeout(PATIENCE, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        let text = format!(
            "no answer within {seconds} seconds; a single change is rolled back, a bulk request \
             may continue; ask for less at once"
        );
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    })
}

/// The span that names a request in the log: without the query string, which may contain the token
/// of a calendar.
fn span(request: &Request) -> tracing::Span {
    tracing::debug_span!("request", method = %request.method(), path = &*cut(request.uri().path()))
}

pub(super) fn sessions(web: &Web) -> SessionManagerLayer<SessionStore> {
    let idle = web.config.session.idle.0;
    let idle = time::Duration::try_from(idle).unwrap_or(time::Duration::DAY);
    SessionManagerLayer::new(SessionStore::new(web.store.clone(), web.clock.clone()))
        .with_name(cookie_name(&web.config))
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(web.config.is_secure())
        .with_expiry(Expiry::OnInactivity(idle))
}

/// The name of the session's cookie. Browsers send the cookies of a host to all of its ports, so
/// two servers on one host need different names. With TLS, the prefix of the name keeps other hosts
/// of the domain from setting it.
fn cookie_name(config: &Config) -> Cow<'static, str> {
    match config.is_secure() {
        true => "__Host-carillon".into(),
        false => format!("carillon-{}", config.listen.port()).into(),
    }
}
