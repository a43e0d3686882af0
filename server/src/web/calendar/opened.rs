//! From an address to the feed that stands there: guesses are counted, and an answer that is known
//! already is not sent again.

use std::net::SocketAddr;

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use entity::calendar_feed::Kind;
use sha2::{Digest, Sha256};

use crate::{
    access::Elsewhere,
    commands::{
        CommandError,
        feeds::{self, Opened},
    },
    web::{Web, auth::client_address, refusal::Refusal},
};

/// The feed with that token. To whoever has none, there is none.
pub(super) async fn opened(
    web: &Web,
    (peer, headers): (SocketAddr, &HeaderMap),
    (kind, token): (Kind, &str),
) -> Result<Opened, Refusal> {
    let address = client_address(peer.ip(), headers, &web.config.trusted_proxies);
    // Guesses are counted by what was guessed and where; whoever has the key gets theirs back.
    let guess = format!("{:x}", Sha256::digest(token));
    web.feed_limiter.attempt(&guess, address).map_err(|wait| {
        let text = "too many tokens that are none came from there; try again later";
        Refusal::too_many(text, wait.as_secs() + 1)
    })?;
    let asked = (kind, token);
    let opened = feeds::open((&web.store, &web.clock), Elsewhere::of(&web.config), asked).await;
    let opened = opened.map_err(|error| Refusal::internal(&error))?;
    let Some(opened) = opened else {
        let what = match kind {
            Kind::Calendar => "calendar",
            Kind::Badge => "badge",
        };
        let text = format!(
            "there is no such {what}: its token was taken back, or its owner may not see it any more"
        );
        return Err(Refusal::new(StatusCode::NOT_FOUND, text));
    };
    web.feed_limiter.forgive(&guess, address);
    Ok(opened)
}

/// What an address without a token is told.
pub(super) fn without_token() -> Refusal {
    let text = "this address needs the token that was shown when the feed was made";
    Refusal::new(StatusCode::BAD_REQUEST, text)
}

/// The answer, or that it is known already.
pub(super) fn answer(
    headers: &HeaderMap,
    cached: &'static str,
    kind: &'static str,
    body: String,
) -> Response {
    let tag = format!("\"{:x}\"", Sha256::digest(&body));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| {
        known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
    });
    let head = [(header::CACHE_CONTROL, cached.to_owned()), (header::ETAG, tag)];
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(header::CONTENT_TYPE, kind)], body).into_response()
}

pub(super) fn refused(error: CommandError) -> Refusal {
    if let CommandError::BadInput(bad) = &error {
        // A search that was good when the feed was made, and is none of today's language.
        return Refusal::new(StatusCode::CONFLICT, bad.to_string());
    }
    Refusal::internal(&error)
}
