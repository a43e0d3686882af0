//! Finds the viewer of a request, by its session or token.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use entity::user;
use secrecy::{ExposeSecret, SecretString};
use tower_sessions::{Session, session::Id};
use uuid::Uuid;

use super::{
    address,
    session::{SessionState, SignedIn},
    session_store::{SessionStore, hashed},
};
use crate::{
    access as people,
    access::{GroupGrantLimits, Viewer},
    clock::Clock,
    store::{StoreError, users},
    web::{Web, refusal::Refusal},
};

/// How long a probe waits for the identification of its caller.
const PATIENCE: Duration = Duration::from_millis(200);

/// The header with the reason for a change, for the audit log.
const REASON: &str = "carillon-reason";

/// The caller of a request; stored in the request's extensions.
#[derive(Clone, Debug)]
pub(in crate::web) struct Requester {
    /// The viewer; `None` unless a session or a token identifies one.
    pub(in crate::web) viewer: Option<Viewer>,
    /// How the caller identified themselves.
    pub(in crate::web) credential: Credential,
    /// The caller's address.
    pub(in crate::web) address: IpAddr,
}

impl Requester {
    /// The key under which the limits for each caller count it. All unauthenticated callers count
    /// as one.
    pub(in crate::web) fn caller(&self) -> Uuid {
        self.viewer.as_ref().map_or(Uuid::nil(), |viewer| viewer.caller)
    }

    /// Whether the caller's session was opened with a one-time password.
    pub(in crate::web) fn must_change_password(&self) -> bool {
        self.viewer.as_ref().is_some_and(|viewer| viewer.must_change_password)
    }
}

/// A caller's credential, which long-lived connections check again and again.
#[derive(Clone, Debug)]
pub(in crate::web) enum Credential {
    /// The request has no credential.
    None,
    /// A cookie with the key of a session.
    Session(Id),
    /// A bearer token.
    Token(SecretString),
    /// The monitoring token. It belongs to no user, and gives access only to the monitoring
    /// endpoints.
    Watcher,
}

impl Credential {
    /// The current viewer; `None` if the session is over, the user disabled or the token revoked.
    pub(in crate::web) async fn viewer(
        &self,
        web: &Web,
        address: IpAddr,
    ) -> Result<Option<Viewer>, Refusal> {
        match self {
            Self::None | Self::Watcher => Ok(None),
            Self::Token(token) => from_token(web, token.expose_secret(), address).await,
            Self::Session(id) => {
                let store = SessionStore::new(web.store.clone(), web.clock.clone());
                let session = Session::new(Some(*id), Arc::new(store), None);
                // An open connection does not count as use, so this does not extend the session.
                match standing(web, &session).await? {
                    Some(user) => Ok(Some(viewer(web, user, address, &session).await?)),
                    None => Ok(None),
                }
            }
        }
    }
}

/// Identifies the caller. An invalid token is refused; an expired session is removed.
pub(in crate::web) async fn identify(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let address = address::client(peer.ip(), request.headers(), &web.config.trusted_proxies);
    let bearer = bearer(request.headers()).map(|token| SecretString::from(token.to_owned()));
    let viewer = match &bearer {
        Some(token) => match from_token(&web, token.expose_secret(), address).await {
            Ok(Some(viewer)) => Ok(Some(viewer)),
            Ok(None) => {
                let text = "this token is unknown, expired or revoked; create another with \
                            'carillon token create'";
                return Refusal::unauthenticated(text).into_response();
            }
            Err(error) => Err(error),
        },
        None => from_session(&web, &session, address).await,
    };
    let viewer = viewer.and_then(|viewer| {
        let reason = reason(request.headers())?;
        Ok(viewer.map(|viewer| Viewer { reason, ..viewer }))
    });
    match viewer {
        Ok(viewer) => {
            let credential = match (bearer, session.id()) {
                (Some(token), _) => Credential::Token(token),
                (None, Some(id)) if viewer.is_some() => Credential::Session(id),
                (None, _) => Credential::None,
            };
            request.extensions_mut().insert(Requester { viewer, credential, address });
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Identifies the caller of an endpoint that is open to everyone. A caller who cannot be identified
/// counts as an unauthenticated caller, so a server that has lost its database can still report
/// that. A request does not extend its session, so that a session that is only used for monitoring
/// expires.
pub(in crate::web) async fn recognize(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let address = address::client(peer.ip(), request.headers(), &web.config.trusted_proxies);
    let credential = match (bearer(request.headers()), session.id()) {
        (Some(token), _) if web.watch.is_token(token) => Credential::Watcher,
        (Some(token), _) => Credential::Token(SecretString::from(token.to_owned())),
        (None, Some(id)) => Credential::Session(id),
        (None, None) => Credential::None,
    };
    // The timeout runs in real time, not on the application's clock, because a probe must be
    // answered within a second.
    let looked = Clock::system().timeout(PATIENCE, credential.viewer(&web, address)).await;
    let viewer = looked.ok().and_then(Result::ok).flatten();
    request.extensions_mut().insert(Requester { viewer, credential, address });
    next.run(request).await
}

/// The viewer of a token.
pub(in crate::web) async fn from_token(
    web: &Web,
    token: &str,
    address: IpAddr,
) -> Result<Option<Viewer>, Refusal> {
    let Some(hash) = people::token_hash(token) else { return Ok(None) };
    let elsewhere = GroupGrantLimits::of(&web.config);
    let look = async {
        people::token_holder(&web.store, &web.clock, elsewhere, &hash).await.map_err(Arc::new)
    };
    let holder = web.tokens.share(&hash, look).await;
    let holder = holder.map_err(|error| Refusal::internal(&*error))?;
    let holder = holder.filter(|holder| holder.is_live(web.clock.now()));
    Ok(holder.map(|holder| holder.viewer(address.to_string())))
}

async fn from_session(
    web: &Web,
    session: &Session,
    address: IpAddr,
) -> Result<Option<Viewer>, Refusal> {
    let Some(mut user) = standing(web, session).await? else { return Ok(None) };
    if let Some(renewed) = user.renewed.take() {
        renewed.save(session).await.map_err(|error| Refusal::internal(&error))?;
    }
    Ok(Some(viewer(web, user, address, session).await?))
}

/// The user of a valid session.
struct SessionUser {
    row: user::Model,
    /// Whether the session was opened with a one-time password.
    must_change_password: bool,
    /// The new contents of the session, if these must be stored.
    renewed: Option<SignedIn>,
}

/// The user of a session. An expired session is removed.
async fn standing(web: &Web, session: &Session) -> Result<Option<SessionUser>, Refusal> {
    let failed = |error: tower_sessions::session::Error| Refusal::internal(&error);
    let Some(signed_in) = SignedIn::load(session).await.map_err(failed)? else { return Ok(None) };
    let user = users::by_id(web.store.read(), signed_in.user).await;
    let user = user.map_err(|error: StoreError| Refusal::internal(&error))?;
    let Some(row) = user else { return Ok(None) };
    let now = web.clock.now();
    let must_change_password = signed_in.must_change_password(&row);
    let renewed = match signed_in.standing(&row, &web.config.session, now) {
        SessionState::Good => None,
        SessionState::Renew => Some(signed_in.renewed(now)),
        SessionState::Over => {
            session.flush().await.map_err(failed)?;
            return Ok(None);
        }
    };
    Ok(Some(SessionUser { row, must_change_password, renewed }))
}

async fn viewer(
    web: &Web,
    user: SessionUser,
    address: IpAddr,
    session: &Session,
) -> Result<Viewer, Refusal> {
    let (elsewhere, source) = (GroupGrantLimits::of(&web.config), address.to_string());
    let viewer = people::user_viewer(&web.store, &web.clock, elsewhere, user.row, source).await;
    let viewer = viewer.map_err(|error| Refusal::internal(&error))?;
    let viewer = Viewer { session: session.id().map(|id| hashed(&id)), ..viewer };
    Ok(if user.must_change_password { viewer.before_password_change() } else { viewer })
}

/// The reason for a change, if the request gives one for all its mutations.
fn reason(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get(REASON) else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes()).ok().and_then(reason_in);
    let refused = || {
        let text = "the header 'carillon-reason' is not UTF-8 or has more than 500 characters; \
                    shorten it";
        Refusal::new(StatusCode::BAD_REQUEST, text)
    };
    let text = text.ok_or_else(refused)?;
    Ok((!text.is_empty()).then_some(text))
}

/// A reason in the form that the audit log accepts; `None` for an invalid one.
pub(in crate::web) fn reason_in(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = text.chars().count() <= 500 && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// The token in `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    // A request with another scheme is treated like one with an invalid token.
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}
