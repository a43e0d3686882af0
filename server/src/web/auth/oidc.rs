//! Redirects the browser to the identity provider and handles its return.
//!
//! The expected values are stored in the browser's session before it leaves. A return with other
//! values, or a second return, is refused. The session that is then opened has a new key.

use std::{borrow::Cow, net::IpAddr, sync::atomic::Ordering::Relaxed, time::Duration};

use axum::{
    Json,
    extract::{Extension, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use chrono::{DateTime, TimeDelta, Utc};
use entity::user;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tower_sessions::{Expiry, Session};

use super::{Requester, browser, login::held_up, session::SignedIn};
use crate::{
    access::oidc::{Identity, OidcError, Provider, SignInOutcome, join},
    store::{StoreError, users},
    telemetry::SignIn,
    web::{
        Web,
        refusal::Refusal,
        refusals::{RefusalKind, cut},
    },
};

/// The key of the pending sign-ins in the session's data.
const PENDING: &str = "oidc_pending";
const TOKEN: &str = "oidc_token";
/// Maximum duration of a sign-in.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Maximum number of concurrent sign-ins in one browser.
const MAX_PENDING: usize = 5;
/// Maximum size of a token that is stored. If no token is stored, the provider asks the user
/// whether to sign out.
const MAX_TOKEN: usize = 8 * 1024;

/// A sign-in that has begun in this browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    state: String,
    nonce: String,
    verifier: String,
    to: String,
    at: DateTime<Utc>,
}

/// Where to go after the sign-in.
#[derive(Debug, Deserialize)]
pub(in crate::web) struct SignInQuery {
    to: Option<String>,
}

/// The parameters with which the browser returns.
#[derive(Debug, Deserialize)]
pub(in crate::web) struct Returned {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// The ways to sign in: `{"password": true, "oidc": {"name": "..."} or null, "first_visit": null}`.
/// On a new server, `first_visit` is `{"administrator": "..."}`, with the name of the administrator
/// who was added first, or null if there is none yet.
pub(in crate::web) async fn methods(State(web): State<Web>) -> Json<serde_json::Value> {
    let oidc = web.oidc.as_ref().map(|provider| json!({ "name": provider.settings().name }));
    // Signing in is possible without `first_visit`, so an unavailable database does not matter
    // here.
    let first_visit = first_visit(&web).await.unwrap_or_default();
    Json(json!({ "password": true, "oidc": oidc, "first_visit": first_visit }))
}

/// For how long after an administrator was added unauthenticated callers are told the name, if no
/// one signs in.
const NEW_FOR: TimeDelta = TimeDelta::days(7);

async fn first_visit(web: &Web) -> Result<Option<serde_json::Value>, StoreError> {
    if web.has_been_used.load(Relaxed) {
        return Ok(None);
    }
    let is_used = users::has_anyone_signed_in(web.store.read()).await?;
    let administrator = match is_used {
        true => None,
        false => users::first_administrator(web.store.read()).await?,
    };
    let is_old = |user: &user::Model| user.created_at.utc() < web.clock.now() - NEW_FOR;
    if is_used || administrator.as_ref().is_some_and(is_old) {
        // From now on, requests of unauthenticated callers no longer read the database for this.
        web.has_been_used.store(true, Relaxed);
        return Ok(None);
    }
    Ok(Some(json!({ "administrator": administrator.map(|user| user.name) })))
}

/// Sends the browser to the provider.
pub(in crate::web) async fn begin(
    State(web): State<Web>,
    Extension(Requester { address, .. }): Extension<Requester>,
    session: Session,
    wanted: Result<Query<SignInQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Some(provider) = &web.oidc else { return Err(not_configured()) };
    web.guesses.visit(address).await.map_err(|hindrance| held_up(&web, &hindrance))?;
    let wanted = wanted.ok().and_then(|Query(wanted)| wanted.to);
    let begun = match provider.begin().await {
        Ok(begun) => begun,
        Err(error) => return Ok(not_now(&error)),
    };
    let now = web.clock.now();
    let pending = Pending {
        state: begun.state,
        nonce: begun.nonce,
        verifier: begun.verifier,
        to: own_path(wanted.as_deref()).to_owned(),
        at: now,
    };
    let kept = async {
        let mut all = waiting(&session, now).await?;
        all.push(pending);
        let surplus = all.len().saturating_sub(MAX_PENDING);
        all.drain(..surplus);
        session.insert(PENDING, all).await?;
        if SignedIn::load(&session).await?.is_none() {
            let patience = time::Duration::try_from(PATIENCE).unwrap_or(time::Duration::MINUTE);
            session.set_expiry(Some(Expiry::OnInactivity(patience)));
        }
        Ok::<_, tower_sessions::session::Error>(())
    };
    kept.await.map_err(|error| Refusal::internal(&error))?;
    Ok(see_other(begun.url.as_str()))
}

/// Opens a session for a user who returns from the provider.
pub(in crate::web) async fn callback(
    State(web): State<Web>,
    Extension(Requester { address, .. }): Extension<Requester>,
    session: Session,
    headers: HeaderMap,
    returned: Result<Query<Returned>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Some(provider) = &web.oidc else { return Err(not_configured()) };
    let Ok(Query(returned)) = returned else { return Ok(not_begun()) };
    let Some(pending) = taken(&session, returned.state.as_deref(), web.clock.now()).await? else {
        web.telemetry.metrics().sign_in(SignIn::Refused);
        // Anyone can cause this any number of times, so it is counted instead of logged each time.
        web.refusals.note(RefusalKind::SignIn, &address.to_string());
        return Ok(not_begun());
    };
    let issuer = &provider.settings().issuer;
    if returned.iss.is_some_and(|iss| iss.trim_end_matches('/') != issuer.trim_end_matches('/')) {
        return Ok(refused(&web, address, "the answer comes from another provider"));
    }
    let Some(code) = returned.code.filter(|_| returned.error.is_none()) else {
        let why = returned.error.filter(|why| is_code(why)).unwrap_or("no reason".to_owned());
        let text = format!("the provider did not sign you in ({why})");
        return Ok(refused(&web, address, &text));
    };
    let identity = match provider.finish(code, pending.nonce, pending.verifier).await {
        Ok(identity) => identity,
        Err(error) if error.is_providers() => return Ok(not_now(&error)),
        Err(error) => {
            tracing::warn!(%address, %error, "an answer of the identity provider was rejected");
            return Ok(refused(&web, address, "the provider's answer was rejected"));
        }
    };
    let browser = browser::sent(&headers);
    enter(&web, provider, address, browser, &session, &identity, &pending.to).await
}

async fn enter(
    web: &Web,
    provider: &Provider,
    address: IpAddr,
    browser: Option<String>,
    session: &Session,
    identity: &Identity,
    to: &str,
) -> Result<Response, Refusal> {
    let mapping = &provider.settings().grants;
    let joined = join(&web.store, &web.clock, identity, mapping, &address.to_string()).await;
    let user = match joined.map_err(|error| Refusal::internal(&error))? {
        SignInOutcome::User(user) => user,
        SignInOutcome::Disabled => return Ok(refused(web, address, "you may not sign in here")),
        SignInOutcome::NoGroup => {
            let text = "you may not sign in here: none of your groups grants a role";
            return Ok(refused(web, address, text));
        }
    };
    web.telemetry.metrics().sign_in(SignIn::Accepted);
    web.guesses.forgive("", address).await;
    // A session key that was planted before is now worthless.
    let opened = async {
        session.clear().await;
        session.cycle_id().await?;
        if identity.id_token.len() <= MAX_TOKEN {
            session.insert(TOKEN, &identity.id_token).await?;
        }
        let signed_in = SignedIn::new(&user, address.to_string(), browser, web.clock.now());
        signed_in.by_provider().save(session).await
    };
    opened.await.map_err(|error| Refusal::internal(&error))?;
    tracing::info!(name = user.name, %address, "signed in by the identity provider");
    Ok(see_other(to))
}

/// The provider's token, if the session was opened through it.
pub(super) async fn token(session: &Session) -> Option<String> {
    session.get(TOKEN).await.ok()?
}

/// The provider's sign-out URL, if it is known.
pub(super) fn farewell(web: &Web, token: &str) -> Option<String> {
    Some(web.oidc.as_ref()?.sign_out_url(token)?.into())
}

/// The sign-in with this state. It is removed, so that it cannot be used a second time.
async fn taken(
    session: &Session,
    state: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Option<Pending>, Refusal> {
    let taking = async {
        let mut all = waiting(session, now).await?;
        let at = all.iter().position(|pending| Some(&*pending.state) == state);
        let Some(at) = at else { return Ok(None) };
        let pending = all.remove(at);
        session.insert(PENDING, all).await?;
        session.save().await?;
        Ok::<_, tower_sessions::session::Error>(Some(pending))
    };
    taking.await.map_err(|error| Refusal::internal(&error))
}

async fn waiting(
    session: &Session,
    now: DateTime<Utc>,
) -> Result<Vec<Pending>, tower_sessions::session::Error> {
    let all: Vec<Pending> = session.get(PENDING).await?.unwrap_or_default();
    let patience = TimeDelta::from_std(PATIENCE).unwrap_or_default();
    Ok(all.into_iter().filter(|pending| now - pending.at < patience).collect())
}

/// Accepts only a path on this server: a browser would take `//host` and `/\host` for another
/// server.
fn own_path(wanted: Option<&str>) -> &str {
    let is_own = |path: &&str| {
        path.starts_with('/')
            && !path[1..].starts_with(['/', '\\'])
            && path.len() <= 2_000
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    wanted.filter(is_own).unwrap_or("/")
}

/// Whether a text has the form of a standard error code.
fn is_code(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn see_other(to: &str) -> Response {
    // The URL contains private values, so no cache may store the response.
    let mut response = Redirect::to(to).into_response();
    response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn not_configured() -> Refusal {
    let text = "this server has no identity provider; sign in with a password, or set [oidc]";
    Refusal::new(StatusCode::NOT_FOUND, text)
}

fn not_begun() -> Response {
    let text = "this sign-in did not begin in this browser, or it took too long";
    page(StatusCode::BAD_REQUEST, text)
}

fn refused(web: &Web, address: IpAddr, text: &str) -> Response {
    web.telemetry.metrics().sign_in(SignIn::Refused);
    let why = cut(text);
    tracing::warn!(%address, %why, "a sign-in by the identity provider was refused");
    page(StatusCode::FORBIDDEN, text)
}

fn not_now(error: &OidcError) -> Response {
    tracing::error!(%error, "the identity provider cannot be used");
    page(StatusCode::BAD_GATEWAY, "the identity provider cannot be used now; the log says why")
}

/// A page without the console around it, for people who arrive by a link.
fn page(status: StatusCode, text: &str) -> Response {
    let text: Cow<'_, str> = text.replace('&', "&amp;").replace('<', "&lt;").into();
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Carillon</title>\
         <h1>Not signed in</h1><p>Carillon: {text}.</p><p><a href=\"/\">Back</a></p></html>"
    );
    (status, Html(html)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for own in ["/", "/runs?state=failed", "/schedules/a%20b#x"] {
            assert_eq!(own_path(Some(own)), own);
        }
        for other in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "evil",
            "",
            "/a\r\nset-cookie: x=y",
            "/\t/evil.example",
            "/%0a\\\\evil.example",
        ] {
            assert_eq!(own_path(Some(other)), "/", "{other}");
        }
        assert_eq!(own_path(None), "/");
    }
}
