use axum::{
    Extension, Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use tower_sessions::{session, session_store};

use crate::{
    api,
    commands::CommandError,
    store::{AWAY, StoreError},
};

/// What a refusal says: goes with the answer to where `/graphql` gives it another shape.
#[derive(Clone, Debug)]
pub(super) struct Told(pub(super) String);

/// An error as JSON: `{"error": "..."}`; `/graphql` has `errors` instead.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), header: None }
    }

    /// Nobody signed in, or not as they claim.
    pub(super) fn unauthenticated(error: &str) -> Self {
        let challenge = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Self { header: Some(challenge), ..Self::new(StatusCode::UNAUTHORIZED, error) }
    }

    /// Too many; come back after so many seconds.
    pub(super) fn too_many(error: impl Into<String>, seconds: u64) -> Self {
        let after = (header::RETRY_AFTER, HeaderValue::from(seconds));
        Self { header: Some(after), ..Self::new(StatusCode::TOO_MANY_REQUESTS, error) }
    }

    /// Not now; try again in a moment.
    pub(super) fn unavailable(error: impl Into<String>) -> Self {
        let after = (header::RETRY_AFTER, HeaderValue::from(api::RETRY_AFTER_SECONDS));
        Self { header: Some(after), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, error) }
    }

    /// The server is being stopped.
    pub(super) fn stopping() -> Self {
        Self::unavailable("this server is being stopped; ask another one, or try again later")
    }

    /// Our fault: the caller learns that, the log learns what. A database that is away is told
    /// apart, and logged by whoever looks after it.
    pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        if let Some(why) = unavailable(error) {
            return Self::unavailable(why);
        }
        tracing::error!(%error, "failed to answer a request");
        Self::defect()
    }

    /// The same for a panic, which has been logged where it happened.
    pub(super) fn defect() -> Self {
        let text = "the server could not answer; its log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

/// Why the database cannot serve a request now, if that is what an error says.
fn unavailable(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return error.unavailable();
    }
    if let Some(error) = error.downcast_ref::<CommandError>() {
        return error.unavailable();
    }
    // The library that keeps sessions hands on texts.
    match error.downcast_ref::<session::Error>() {
        Some(session::Error::Store(session_store::Error::Backend(text))) if text == AWAY => {
            Some(AWAY)
        }
        Some(_) | None => None,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = Json(serde_json::json!({ "error": self.error }));
        let told = Extension(Told(self.error));
        match self.header {
            Some(header) => (self.status, [header], told, body).into_response(),
            None => (self.status, told, body).into_response(),
        }
    }
}
