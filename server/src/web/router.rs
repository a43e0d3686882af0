use std::time::Duration;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use tower_http::{timeout::TimeoutLayer, trace::TraceLayer};
use tower_sessions::{Expiry, SessionManagerLayer, cookie::SameSite};

use super::{
    Web, auth, auth::SessionStore, console, graphql, headers, health, metrics, same_origin,
};

/// A module file may be large, a query is not.
const GRAPHQL_BODY: usize = 4 * 1024 * 1024;
/// A name and a password.
const AUTH_BODY: usize = 4 * 1024;
/// No query of ours takes so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// All routes.
pub fn router(web: Web) -> Router {
    let patience = TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, PATIENCE);
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
        .route("/graphiql", get(graphql::graphiql))
        .layer(from_fn(headers::never_stored));
    Router::new()
        .merge(identified.layer(from_fn(headers::never_stored)))
        .merge(watched)
        .fallback(console::serve)
        .layer(TraceLayer::new_for_http())
        .layer(from_fn_with_state(web.clone(), headers::secure))
        .with_state(web)
}

fn sessions(web: &Web) -> SessionManagerLayer<SessionStore> {
    let idle = web.config.session.idle.0;
    let idle = time::Duration::try_from(idle).unwrap_or(time::Duration::DAY);
    SessionManagerLayer::new(SessionStore::new(web.store.clone(), web.clock.clone()))
        .with_name("sid")
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(web.config.is_secure())
        .with_expiry(Expiry::OnInactivity(idle))
}
