//! Who may read the instruments where strangers may not: `/metrics`, and what `/healthz` says
//! beyond one word.
//!
//! Without the setting `watch.token` both are open to whoever reaches the port, and know only whom
//! they may tell names. With it they are for those who show it, or who have a role in what they ask
//! about. It opens nothing else: it stands for nobody.

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
    auth::{Asking, Credential},
    refusal::Refusal,
};

/// What strangers are told.
const CLOSED: &str = "this needs a sign-in: send 'Authorization: Bearer' with the token of the setting \
                      watch.token, or with one of 'carillon token create'";

/// The token, hashed: how long a comparison takes says nothing then.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Option<[u8; 32]>);

impl Watch {
    pub(super) fn by(token: Option<SecretString>) -> Self {
        Self(token.map(|token| hashed(token.expose_secret())))
    }

    /// Whether everybody may read.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Whether that is the token.
    pub(super) fn is_token(&self, text: &str) -> bool {
        self.0.is_some_and(|token| token == hashed(text))
    }
}

impl Asking {
    /// Whether they showed the token of whoever watches.
    pub(super) fn watches(&self) -> bool {
        matches!(self.credential, Credential::Watcher)
    }

    /// Whether they may be told all that the instruments know of a namespace, or without one of all
    /// of them.
    pub(super) fn knows(&self, namespace: Option<Uuid>) -> bool {
        let grants = self.viewer.as_ref().map(|viewer| &viewer.grants);
        let has_role = grants.is_some_and(|grants| match namespace {
            Some(id) => grants.within(id).is_some(),
            None => grants.role_everywhere().is_some(),
        });
        has_role || self.watches()
    }
}

/// Lets those through who may know all.
pub(super) async fn guard(
    Extension(asking): Extension<Asking>,
    request: Request,
    next: Next,
) -> Response {
    match (asking.knows(None), &asking.viewer) {
        (true, _) => next.run(request).await,
        (false, Some(_)) => no_role_everywhere().into_response(),
        (false, None) => closed().into_response(),
    }
}

/// Strangers are told no more.
pub(super) fn closed() -> Refusal {
    Refusal::unauthenticated(CLOSED)
}

/// Somebody is known, and not for all namespaces.
pub(super) fn no_role_everywhere() -> Refusal {
    let text = "this needs a role in every namespace; you have none there";
    Refusal::new(StatusCode::FORBIDDEN, text)
}

fn hashed(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}
