use axum::{
    Json,
    extract::{Extension, State, rejection::JsonRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use tower_sessions::Session;

use super::{Asking, oidc, session::SignedIn};
use crate::{
    engine::people::{self, Hindrance},
    telemetry::SignIn,
    web::{Web, refusal::Refusal, refusals::cut},
};

/// What somebody signs in with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct Credentials {
    name: String,
    password: SecretString,
}

/// Opens a session: 204 and a cookie; or 401, or 429 with the seconds to wait.
pub(in crate::web) async fn login(
    State(web): State<Web>,
    Extension(Asking { address, .. }): Extension<Asking>,
    session: Session,
    credentials: Result<Json<Credentials>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Credentials { name, password }) = credentials.map_err(|rejection| {
        let text = format!("{}; send {{\"name\": ..., \"password\": ...}}", rejection.body_text());
        Refusal::new(rejection.status(), text)
    })?;
    let metrics = web.telemetry.metrics();
    web.guesses.attempt(&name, address).await.map_err(|hindrance| held_up(&web, &hindrance))?;
    let user = people::sign_in(&web.store, &web.clock, &name, password).await;
    let Some(user) = user.map_err(|error| Refusal::internal(&error))? else {
        metrics.sign_in(SignIn::Refused);
        let name = cut(&name);
        tracing::warn!(%name, %address, "a sign-in was refused");
        // One text for an unknown name, a wrong password and a disabled user.
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong name or password"));
    };
    web.guesses.forgive(&name, address).await;
    metrics.sign_in(SignIn::Accepted);
    // A key that somebody planted before is worth nothing now, and what the session kept of whoever
    // signed in before them does not go along.
    let opened = async {
        session.clear().await;
        session.cycle_id().await?;
        SignedIn::new(&user, address.to_string(), web.clock.now()).save(&session).await
    };
    opened.await.map_err(|error| Refusal::internal(&error))?;
    tracing::info!(name, %address, "signed in");
    Ok(StatusCode::NO_CONTENT)
}

/// What somebody hears who may not try now. Nobody may whose guesses cannot be counted.
pub(super) fn held_up(web: &Web, hindrance: &Hindrance) -> Refusal {
    match hindrance {
        Hindrance::Wait(wait) => {
            web.telemetry.metrics().sign_in(SignIn::Limited);
            let seconds = wait.as_secs() + 1;
            let text = format!("too many attempts; wait {seconds} seconds");
            Refusal::too_many(text, seconds)
        }
        Hindrance::Unknown(error) => Refusal::internal(error),
    }
}

/// Ends the session, if there is one: 204; or 200 and `{"continue_at": ...}` where the browser can
/// sign out of the identity provider as well.
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
