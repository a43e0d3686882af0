use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_sessions::Session;

use super::session::{SignedIn, Standing};
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
    /// From where.
    pub(in crate::web) address: IpAddr,
}

/// Finds out who asks. A token that is none is refused; a session that is over is forgotten.
pub(in crate::web) async fn identify(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let address = peer.ip();
    let viewer = match bearer(request.headers()) {
        Some(token) => match from_token(&web, token, address).await {
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
            request.extensions_mut().insert(Asking { viewer, address });
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
    let failed = |error: tower_sessions::session::Error| Refusal::internal(&error);
    let Some(signed_in) = SignedIn::load(session).await.map_err(failed)? else { return Ok(None) };
    let user = users::by_id(web.store.read(), signed_in.user).await;
    let user = user.map_err(|error: StoreError| Refusal::internal(&error))?;
    let Some(user) = user else { return Ok(None) };
    let now = web.clock.now();
    match signed_in.standing(&user, &web.config.session, now) {
        Standing::Good => {}
        Standing::Renew => signed_in.renewed(now).save(session).await.map_err(failed)?,
        Standing::Over => {
            session.flush().await.map_err(failed)?;
            return Ok(None);
        }
    }
    let source = address.to_string();
    let (id, name, role) = (user.id, user.name, user.role);
    Ok(Some(Viewer { id, name, kind: ViewerKind::User, role, source }))
}

/// The token in `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    // Another scheme is no token of ours, and no session either.
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}
