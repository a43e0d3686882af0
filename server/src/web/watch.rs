//! Who may read the monitoring endpoints if unauthenticated callers may not: `/metrics`, and the
//! details of `/healthz`.
//!
//! Without the setting `watch.token`, both are open to anyone who can reach the port, and only
//! names are restricted. With the setting, callers must present the token or have a role in the
//! namespace that they ask about. The token gives access to nothing else, and belongs to no user.

use axum::{
    Extension,
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    auth::{Credential, Requester},
    refusal::Refusal,
};

/// The message for unauthenticated callers.
const CLOSED: &str = "this needs a sign-in: send 'Authorization: Bearer' with the token of the setting \
                      watch.token, or with one of 'carillon token create'";

/// The token, hashed, so that the duration of a comparison reveals nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct ScrapeToken(Option<[u8; 32]>);

impl ScrapeToken {
    pub(super) fn by(token: Option<SecretString>) -> Self {
        Self(token.map(|token| hashed(token.expose_secret())))
    }

    /// Whether anyone may read.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Whether this is the token.
    pub(super) fn is_token(&self, text: &str) -> bool {
        self.0.is_some_and(|token| token == hashed(text))
    }
}

impl Requester {
    /// Whether the caller presented the monitoring token.
    pub(super) fn watches(&self) -> bool {
        matches!(self.credential, Credential::Watcher)
    }

    /// Whether the caller may see everything about a namespace, or about all of them if none is
    /// given.
    pub(super) fn knows(&self, namespace: Option<Uuid>) -> bool {
        let grants = self.viewer.as_ref().map(|viewer| &viewer.grants);
        let has_role = grants.is_some_and(|grants| match namespace {
            Some(id) => grants.within(id).is_some(),
            None => grants.role_everywhere().is_some(),
        });
        has_role || self.watches()
    }
}

/// Only admits callers who may see everything.
pub(super) async fn guard(
    Extension(asking): Extension<Requester>,
    request: Request,
    next: Next,
) -> Response {
    match (asking.knows(None), &asking.viewer) {
        (true, _) => next.run(request).await,
        (false, Some(_)) if asking.must_change_password() => {
            Refusal::password_change().into_response()
        }
        (false, Some(_)) => no_role_everywhere().into_response(),
        (false, None) => closed().into_response(),
    }
}

/// The refusal for unauthenticated callers.
pub(super) fn closed() -> Refusal {
    Refusal::unauthenticated(CLOSED)
}

/// The refusal for a caller who is signed in but has no role in all namespaces.
pub(super) fn no_role_everywhere() -> Refusal {
    let text = "this needs a role in every namespace; you have none there";
    Refusal::new(StatusCode::FORBIDDEN, text)
}

fn hashed(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}
