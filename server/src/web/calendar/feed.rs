use std::net::SocketAddr;

use axum::{
    extract::{ConnectInfo, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::ics;
use crate::{
    access::Elsewhere,
    commands::{CommandError, feeds},
    web::{Web, auth::client_address, refusal::Refusal},
};

/// How long a program may go on with what it has read.
const CACHED: &str = "private, max-age=300";

/// The key of the feed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct Asked {
    token: String,
}

/// The calendar of a feed. To whoever has not its key, there is none.
pub(in crate::web) async fn feed(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Ok(Query(Asked { token })) = asked else {
        let text = "this address needs the token that was shown when the feed was made";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, text));
    };
    let address = client_address(peer.ip(), &headers, &web.config.trusted_proxies);
    // Guesses are counted by what was guessed and where; whoever has the key gets theirs back.
    let guess = format!("{:x}", Sha256::digest(&token));
    web.feed_limiter.attempt(&guess, address).map_err(|wait| {
        let text = "too many tokens that are none came from there; try again later";
        Refusal::too_many(text, wait.as_secs() + 1)
    })?;
    let opened = feeds::open((&web.store, &web.clock), Elsewhere::of(&web.config), &token).await;
    let opened = opened.map_err(|error| Refusal::internal(&error))?;
    let Some(opened) = opened else {
        let text = "there is no such calendar: its token was taken back, or its owner may not see \
                    it any more";
        return Err(Refusal::new(StatusCode::NOT_FOUND, text));
    };
    web.feed_limiter.forgive(&guess, address);
    // It is a lot to ask the calculator: some at once, the others after them.
    let _turn = web.feeds.acquire().await.map_err(|closed| Refusal::internal(&closed))?;
    let found = feeds::events(&web.commands, &opened).await;
    let (events, is_whole) = found.map_err(refused)?;
    let name = format!("{} ({})", opened.feed.name, opened.namespace);
    let link = web.config.public_url.as_deref();
    let body = ics::calendar(&name, &events, is_whole, link);
    let tag = format!("\"{:x}\"", Sha256::digest(&body));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| {
        known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
    });
    let head = [(header::CACHE_CONTROL, CACHED.to_owned()), (header::ETAG, tag)];
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    let kind = [
        (header::CONTENT_TYPE, "text/calendar; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "inline; filename=\"carillon.ics\""),
    ];
    Ok((head, kind, body).into_response())
}

fn refused(error: CommandError) -> Refusal {
    if let CommandError::BadInput(bad) = &error {
        // A search that was good when the feed was made, and is none of today's language.
        return Refusal::new(StatusCode::CONFLICT, bad.to_string());
    }
    Refusal::internal(&error)
}
