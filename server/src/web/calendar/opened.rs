//! Finds the feed of an address. Counts guesses, and does not send a response again that the client
//! already has.

use std::{net::SocketAddr, time::Duration};

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use entity::calendar_feed::Kind;
use sha2::{Digest, Sha256};

use crate::{
    access::GroupGrantLimits,
    bulkhead::BulkheadPlace,
    clock::Clock,
    commands::{
        CommandError,
        feeds::{self, OpenFeed},
    },
    web::{Web, auth::client_address, refusal::Refusal},
};

/// How long a request waits for a place.
const PATIENCE: Duration = Duration::from_secs(10);

/// The feed with this token. A wrong token and a revoked feed get the same answer.
pub(super) async fn opened(
    web: &Web,
    peer: SocketAddr,
    headers: &HeaderMap,
    kind: Kind,
    token: &str,
) -> Result<OpenFeed, Refusal> {
    let address = client_address(peer.ip(), headers, &web.config.trusted_proxies);
    // Each token counts as a guess of its sender's address. The guess of a right token is given
    // back below.
    let guess = format!("{:x}", Sha256::digest(token));
    web.feed_limiter.attempt(&guess, address).map_err(|wait| {
        let text = "too many invalid tokens came from this address; try again later";
        Refusal::too_many(text, wait.as_secs() + 1)
    })?;
    let elsewhere = GroupGrantLimits::of(&web.config);
    let opened = feeds::open(&web.store, &web.clock, elsewhere, kind, token).await;
    let opened = opened.map_err(|error| Refusal::internal(&error))?;
    let Some(opened) = opened else {
        let what = match kind {
            Kind::Calendar => "calendar",
            Kind::Badge => "badge",
        };
        let text = format!(
            "there is no such {what}: its token was revoked, or its owner may no longer see it"
        );
        return Err(Refusal::new(StatusCode::NOT_FOUND, text));
    };
    web.feed_limiter.forgive(&guess, address);
    Ok(opened)
}

/// Waits for one of the places for building a feed. Only a few are built at once, because that is
/// expensive, and fewer of one namespace.
pub(super) async fn place_for(web: &Web, opened: &OpenFeed) -> Result<BulkheadPlace, Refusal> {
    // In real time rather than the application's.
    let clock = Clock::system();
    let place = web.feeds.enter_within(opened.feed.namespace_id, &clock, PATIENCE).await;
    place.ok_or_else(|| {
        let text = "too many calendars and badges of this namespace are requested at once";
        Refusal::too_many(text, PATIENCE.as_secs())
    })
}

/// The refusal of an address without a token.
pub(super) fn without_token() -> Refusal {
    let text = "this address needs the token that was shown when the feed was created";
    Refusal::new(StatusCode::BAD_REQUEST, text)
}

/// The response, or 304 if the client already has it.
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
        // The search was valid when the feed was created, but no longer is.
        return Refusal::new(StatusCode::CONFLICT, bad.to_string());
    }
    if matches!(error, CommandError::Busy) {
        return Refusal::too_many(error.to_string(), PATIENCE.as_secs());
    }
    Refusal::internal(&error)
}
