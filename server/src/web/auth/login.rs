use std::net::IpAddr;

use axum::{
    Json,
    extract::{Extension, State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use tower_sessions::Session;

use super::{Requester, browser, device, oidc, session::SignedIn};
use crate::{
    access as people,
    access::{Device, GuessRefusal},
    telemetry::SignIn,
    web::{Web, refusal::Refusal, refusals::cut},
};

/// Name and password.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct Credentials {
    name: String,
    password: SecretString,
}

/// Opens a session: 204 and a cookie; or 401, or 429 with the seconds to wait.
pub(in crate::web) async fn login(
    State(web): State<Web>,
    Extension(Requester { address, .. }): Extension<Requester>,
    session: Session,
    headers: HeaderMap,
    credentials: Result<Json<Credentials>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(Credentials { name, password }) = credentials.map_err(|rejection| {
        let text = format!("{}; send {{\"name\": ..., \"password\": ...}}", rejection.body_text());
        Refusal::new(rejection.status(), text)
    })?;
    let metrics = web.telemetry.metrics();
    let device = device::sent(&web.config, &headers);
    let counted = count(&web, &name, address, device.as_ref()).await;
    let counted = counted.map_err(|hindrance| held_up(&web, &hindrance))?;
    let user = people::sign_in(&web.store, &web.clock, &name, password).await;
    let Some(user) = user.map_err(|error| Refusal::internal(&error))? else {
        metrics.sign_in(SignIn::Refused);
        let name = cut(&name);
        tracing::warn!(%name, %address, "a sign-in was refused");
        // Unknown names, wrong passwords and disabled users get the same text.
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong name or password"));
    };
    match (counted, &device) {
        (CountedBy::Device, Some(device)) => device.forgive(&web.guesses, &name).await,
        (CountedBy::Device | CountedBy::Address, _) => web.guesses.forgive(&name, address).await,
    }
    metrics.sign_in(SignIn::Accepted);
    // The new session gets a new key and no old data: a key that was planted before becomes
    // worthless, and nothing of another user's earlier session remains.
    let opened = async {
        session.clear().await;
        session.cycle_id().await?;
        let browser = browser::sent(&headers);
        SignedIn::new(&user, address.to_string(), browser, web.clock.now()).save(&session).await
    };
    opened.await.map_err(|error| Refusal::internal(&error))?;
    tracing::info!(name, %address, "signed in");
    // A sign-in must not fail because the browser could not be remembered.
    let cookie = device::remember(&web, device, &user).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "failed to remember the browser of a sign-in");
        None
    });
    let mut answer = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = cookie {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// The allowance from which an attempt was taken.
#[derive(Clone, Copy, Debug)]
enum CountedBy {
    /// The name and the address.
    Address,
    /// A browser in which the user has signed in before.
    Device,
}

/// Counts an attempt. If the name or the address has no attempts left, a browser in which that user
/// has signed in before still has its own. So guesses at a name do not lock its user out.
async fn count(
    web: &Web,
    name: &str,
    address: IpAddr,
    device: Option<&Device>,
) -> Result<CountedBy, GuessRefusal> {
    let hindrance = match web.guesses.attempt(name, address).await {
        Ok(()) => return Ok(CountedBy::Address),
        Err(hindrance) => hindrance,
    };
    let (GuessRefusal::Wait(_), Some(device)) = (&hindrance, device) else { return Err(hindrance) };
    if !device.is_known(&web.store, name).await.map_err(GuessRefusal::Unknown)? {
        return Err(hindrance);
    }
    device.attempt(&web.guesses, name).await.map(|()| CountedBy::Device)
}

/// The refusal for a caller who may not try now. While guesses cannot be counted, no one may.
pub(super) fn held_up(web: &Web, hindrance: &GuessRefusal) -> Refusal {
    match hindrance {
        GuessRefusal::Wait(wait) => {
            web.telemetry.metrics().sign_in(SignIn::Limited);
            let seconds = wait.as_secs() + 1;
            let text = format!("too many attempts; wait {seconds} seconds");
            Refusal::too_many(text, seconds)
        }
        GuessRefusal::Unknown(error) => Refusal::internal(error),
    }
}

/// Ends the session, if there is one: returns 204, or 200 and `{"continue_at": ...}` if the browser
/// can also sign out of the identity provider.
pub(in crate::web) async fn logout(
    State(web): State<Web>,
    session: Session,
) -> Result<Response, Refusal> {
    let token = oidc::token(&session).await;
    session.flush().await.map_err(|error| Refusal::internal(&error))?;
    Ok(match token.and_then(|token| oidc::farewell(&web, &token)) {
        Some(url) => Json(json!({ "continue_at": url })).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
