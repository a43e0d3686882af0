use axum::{
    Extension, Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use tower_sessions::{session, session_store};

use crate::{
    access::PASSWORD_CHANGE,
    api,
    commands::CommandError,
    store::{AWAY, StoreError},
};

/// The text of a refusal, attached to the response so that `/graphql` can convert it.
#[derive(Clone, Debug)]
pub(super) struct RefusalText(pub(super) String);

/// An error as JSON: `{"error": "..."}`, with `code` where the status does not say it all;
/// `/graphql` has `errors` instead.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
    code: Option<&'static str>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), code: None, header: None }
    }

    /// The status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The text of the answer.
    pub(super) fn into_text(self) -> String {
        self.error
    }

    /// Answers that the session was opened with a one-time password, which must be replaced first.
    pub(super) fn password_change() -> Self {
        let refused = Self::new(StatusCode::FORBIDDEN, PASSWORD_CHANGE);
        Self { code: Some(api::PASSWORD_CHANGE_REQUIRED), ..refused }
    }

    /// Answers that the caller is not signed in, or that the credential is invalid.
    pub(super) fn unauthenticated(error: &str) -> Self {
        let challenge = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Self { header: Some(challenge), ..Self::new(StatusCode::UNAUTHORIZED, error) }
    }

    /// Answers that there were too many requests; the caller may retry after this many seconds.
    pub(super) fn too_many(error: impl Into<String>, seconds: u64) -> Self {
        let after = (header::RETRY_AFTER, HeaderValue::from(seconds));
        Self { header: Some(after), ..Self::new(StatusCode::TOO_MANY_REQUESTS, error) }
    }

    /// Answers that the server is temporarily unavailable; the caller may retry in a moment.
    pub(super) fn unavailable(error: impl Into<String>) -> Self {
        let after = (header::RETRY_AFTER, HeaderValue::from(api::RETRY_AFTER_SECONDS));
        Self { header: Some(after), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, error) }
    }

    /// Answers that the server is shutting down.
    pub(super) fn stopping() -> Self {
        Self::unavailable("this server is being stopped; ask another one, or try again later")
    }

    /// Answers that there was an internal error; the log has the details. An unavailable database
    /// gets a different answer, and its monitor logs the outage.
    pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        if let Some(why) = unavailable(error) {
            return Self::unavailable(why);
        }
        tracing::error!(%error, "failed to answer a request");
        Self::defect()
    }

    /// Answers that there was an internal error or a panic, which has already been logged.
    pub(super) fn defect() -> Self {
        let text = "the server could not answer; its log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

/// Why the database cannot serve a request now, if the error says so.
fn unavailable(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return error.unavailable();
    }
    if let Some(error) = error.downcast_ref::<CommandError>() {
        return error.unavailable();
    }
    // The session library passes errors on as text.
    match error.downcast_ref::<session::Error>() {
        Some(session::Error::Store(session_store::Error::Backend(text))) if text == AWAY => {
            Some(AWAY)
        }
        Some(_) | None => None,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = match self.code {
            Some(code) => serde_json::json!({ "error": self.error, "code": code }),
            None => serde_json::json!({ "error": self.error }),
        };
        let body = Json(body);
        let told = Extension(RefusalText(self.error));
        match self.header {
            Some(header) => (self.status, [header], told, body).into_response(),
            None => (self.status, told, body).into_response(),
        }
    }
}
