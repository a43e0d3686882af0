use std::{borrow::Cow, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::StatusCode,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tower_http::{catch_panic::CatchPanicLayer, trace::TraceLayer};
use tower_sessions::{Expiry, SessionManagerLayer, cookie::SameSite};

use super::{
    Web, auth, auth::SessionStore, console, graphql, headers, health, metrics, refusal::Refusal,
    same_origin,
};
use crate::{
    clock::Clock,
    config::{Config, Role},
};

/// A module file may be large, a query is not.
const GRAPHQL_BODY: usize = 4 * 1024 * 1024;
/// A name and a password.
const AUTH_BODY: usize = 4 * 1024;
/// No query of ours takes so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// All routes.
pub fn router(web: Web) -> Router {
    let patience = from_fn(patience);
    let graphql = post(graphql::execute)
        .layer((patience, DefaultBodyLimit::max(GRAPHQL_BODY)))
        .get(graphql::subscribe);
    let auth_body = DefaultBodyLimit::max(AUTH_BODY);
    let identified = Router::new()
        .route("/graphql", graphql)
        .route("/graphql/ws", get(graphql::subscribe))
        .route("/auth/login", post(auth::login).layer(auth_body))
        .route("/auth/logout", post(auth::logout).layer(auth_body))
        .layer(from_fn_with_state(web.clone(), auth::identify))
        .layer(sessions(&web))
        .layer(from_fn_with_state(web.clone(), same_origin::guard));
    let watched = Router::new()
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/healthz", get(health::health))
        .route("/metrics", get(metrics::scrape))
        .layer(from_fn(headers::never_stored));
    let roles = web.config.node.roles;
    let router = if roles.has(Role::Api) {
        let graphiql = Router::new().route("/graphiql", get(graphql::graphiql));
        identified.merge(graphiql).layer(from_fn(headers::never_stored)).fallback(console::serve)
    } else {
        Router::new().fallback(no_api)
    };
    router
        .merge(watched)
        .method_not_allowed_fallback(other_method)
        // A defect costs its request, not the connection; it is logged where it happened.
        .layer(CatchPanicLayer::custom(|_| Refusal::defect().into_response()))
        .layer(TraceLayer::new_for_http())
        .layer(from_fn_with_state(web.clone(), headers::secure))
        .with_state(web)
}

/// A node without that role is watched, and nothing else.
async fn no_api() -> Refusal {
    let text = "this node does not have the role 'api'; ask one that does (node.roles)";
    Refusal::new(StatusCode::NOT_FOUND, text)
}

/// The router names the methods in the header `Allow`.
async fn other_method() -> Refusal {
    let text = "this address does not take that method; the header 'Allow' names those it takes";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text)
}

/// Answers in the place of a request that takes too long; what it began is dropped, and with that
/// rolled back.
async fn patience(request: Request, next: Next) -> Response {
    let answer = Clock::system().timeout(PATIENCE, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        let text = format!("not done within {seconds} seconds and undone; ask for less at once");
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    })
}

fn sessions(web: &Web) -> SessionManagerLayer<SessionStore> {
    let idle = web.config.session.idle.0;
    let idle = time::Duration::try_from(idle).unwrap_or(time::Duration::DAY);
    SessionManagerLayer::new(SessionStore::new(web.store.clone(), web.clock.clone()))
        .with_name(cookie_name(&web.config))
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(web.config.is_secure())
        .with_expiry(Expiry::OnInactivity(idle))
}

/// Browsers give the cookies of a host to all its ports: two servers on one host must not take
/// each other's. Behind TLS the name itself keeps others of the domain from setting it.
fn cookie_name(config: &Config) -> Cow<'static, str> {
    match config.is_secure() {
        true => "__Host-carillon".into(),
        false => format!("carillon-{}", config.listen.port()).into(),
    }
}
