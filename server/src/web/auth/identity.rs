use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use entity::user;
use secrecy::{ExposeSecret, SecretString};
use tower_sessions::{Session, session::Id};

use super::{
    address,
    session::{SignedIn, Standing},
    session_store::SessionStore,
};
use crate::{
    engine::{
        commands::{Viewer, ViewerKind},
        people,
    },
    store::{StoreError, users},
    web::{Web, refusal::Refusal},
};

/// What is known of a request's sender; in its extensions.
#[derive(Clone, Debug)]
pub(in crate::web) struct Asking {
    /// Nobody, unless a session or a token says who.
    pub(in crate::web) viewer: Option<Viewer>,
    /// By what.
    pub(in crate::web) credential: Credential,
    /// From where.
    pub(in crate::web) address: IpAddr,
}

/// What somebody showed to be known by. What stays open for long asks again with it.
#[derive(Clone, Debug)]
pub(in crate::web) enum Credential {
    /// Nothing.
    None,
    /// A cookie with the key of a session.
    Session(Id),
    /// A bearer token.
    Token(SecretString),
}

impl Credential {
    /// Whom it shows now: nobody any more, if the session is over, the user disabled or the token
    /// taken back.
    pub(in crate::web) async fn viewer(
        &self,
        web: &Web,
        address: IpAddr,
    ) -> Result<Option<Viewer>, Refusal> {
        match self {
            Self::None => Ok(None),
            Self::Token(token) => from_token(web, token.expose_secret(), address).await,
            Self::Session(id) => {
                let store = SessionStore::new(web.store.clone(), web.clock.clone());
                let session = Session::new(Some(*id), Arc::new(store), None);
                // What is open is not what is used: this does not put off the session's end.
                Ok(standing(web, &session).await?.map(|(user, _)| viewer(user, address)))
            }
        }
    }
}

/// Finds out who asks. A token that is none is refused; a session that is over is forgotten.
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
                let text = "this token is unknown, expired or revoked; make another with \
                            'carillon token create'";
                return Refusal::unauthenticated(text).into_response();
            }
            Err(error) => Err(error),
        },
        None => from_session(&web, &session, address).await,
    };
    match viewer {
        Ok(viewer) => {
            let credential = match (bearer, session.id()) {
                (Some(token), _) => Credential::Token(token),
                (None, Some(id)) if viewer.is_some() => Credential::Session(id),
                (None, _) => Credential::None,
            };
            request.extensions_mut().insert(Asking { viewer, credential, address });
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Whose token it is.
pub(in crate::web) async fn from_token(
    web: &Web,
    token: &str,
    address: IpAddr,
) -> Result<Option<Viewer>, Refusal> {
    let found = people::token_viewer(&web.store, &web.clock, token, address.to_string()).await;
    found.map_err(|error| Refusal::internal(&error))
}

async fn from_session(
    web: &Web,
    session: &Session,
    address: IpAddr,
) -> Result<Option<Viewer>, Refusal> {
    let Some((user, renewed)) = standing(web, session).await? else { return Ok(None) };
    if let Some(renewed) = renewed {
        renewed.save(session).await.map_err(|error| Refusal::internal(&error))?;
    }
    Ok(Some(viewer(user, address)))
}

/// Whose session it is, and what it should keep from now on if that changes. One that is over is
/// forgotten.
async fn standing(
    web: &Web,
    session: &Session,
) -> Result<Option<(user::Model, Option<SignedIn>)>, Refusal> {
    let failed = |error: tower_sessions::session::Error| Refusal::internal(&error);
    let Some(signed_in) = SignedIn::load(session).await.map_err(failed)? else { return Ok(None) };
    let user = users::by_id(web.store.read(), signed_in.user).await;
    let user = user.map_err(|error: StoreError| Refusal::internal(&error))?;
    let Some(user) = user else { return Ok(None) };
    let now = web.clock.now();
    match signed_in.standing(&user, &web.config.session, now) {
        Standing::Good => Ok(Some((user, None))),
        Standing::Renew => Ok(Some((user, Some(signed_in.renewed(now))))),
        Standing::Over => {
            session.flush().await.map_err(failed)?;
            Ok(None)
        }
    }
}

fn viewer(user: user::Model, address: IpAddr) -> Viewer {
    let (id, name, role) = (user.id, user.name, user.role);
    Viewer { id, name, kind: ViewerKind::User, role, source: address.to_string() }
}

/// The token in `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    // Another scheme is no token of ours, and no session either.
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}
