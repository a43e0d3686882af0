//! HTTP requests: GraphQL by POST, and the endpoints for signing in and out.

use js_sys::Array;
use leptos::prelude::window;
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, Headers, RequestInit, Response};

use super::ask::{pluck, read};
use crate::model::{Code, Failure, WireError, sentence};

/// How long an answer may take. The server itself gives up after 30 seconds, whatever the request. So a server that
/// is silent for longer is frozen or gone.
const PATIENCE_MS: u32 = 35_000;

/// Posts JSON; returns the response's status and text.
async fn send(
    path: &str,
    body: &str,
    abort: Option<AbortSignal>,
) -> Result<(u16, String), JsValue> {
    let headers = Headers::new()?;
    headers.set("content-type", "application/json")?;
    headers.set("accept", "application/graphql-response+json, application/json")?;
    let request = RequestInit::new();
    request.set_method("POST");
    request.set_headers(&headers);
    request.set_body(&body.into());
    let patience = AbortSignal::timeout_with_u32(PATIENCE_MS);
    let signal = match abort {
        Some(abort) => AbortSignal::any(&Array::of2(&abort, &patience)),
        None => patience,
    };
    request.set_signal(Some(&signal));
    let response = JsFuture::from(window().fetch_with_str_and_init(path, &request)).await?;
    let response: Response = response.dyn_into()?;
    let text = JsFuture::from(response.text()?).await?;
    Ok((response.status(), text.as_string().unwrap_or_default()))
}

/// The server's response to an operation, not parsed yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    status: u16,
    text: String,
}

/// Posts an operation.
///
/// # Errors
/// Why there was no answer.
pub(super) async fn post(body: String, abort: Option<AbortSignal>) -> Result<Reply, Failure> {
    let reply = send("/graphql", &body, abort).await;
    let (status, text) = reply.map_err(|_| Failure::unreachable())?;
    Ok(Reply { status, text })
}

impl Reply {
    /// Reads the operation's data.
    ///
    /// # Errors
    /// The first error that the server reports, or why the reply is not an answer.
    pub(super) fn data(&self) -> Result<Value, Failure> {
        let mut answer: Value =
            serde_json::from_str(&self.text).map_err(|why| without_graphql(self.status, why))?;
        match pluck(&mut answer, "/errors/0") {
            Some(error) => Err(read::<WireError>(error)?.into()),
            None => Ok(pluck(&mut answer, "/data").unwrap_or_default()),
        }
    }
}

/// The failure for a response without GraphQL, from a proxy or a layer of the server in front of the API: it only has
/// a status.
fn without_graphql(status: u16, why: serde_json::Error) -> Failure {
    match status {
        401 => Failure::new(Code::Unauthenticated, "Your session has ended."),
        403 => Failure::new(Code::Forbidden, "The server refused the request."),
        429 => Failure::new(Code::RateLimited, "Too many requests."),
        502..=504 => Failure::unreachable(),
        _ => Failure::unreadable(format_args!("status {status}, {why}")),
    }
}

/// Opens a session; the response sets its cookie.
///
/// # Errors
/// The server's error text if it refuses.
pub(crate) async fn sign_in(name: String, password: String) -> Result<(), Failure> {
    let body = serde_json::json!({ "name": name, "password": password }).to_string();
    let answer = send("/auth/login", &body, None).await;
    let (status, text) = answer.map_err(|_| Failure::unreachable())?;
    let code = match status {
        200..=299 => return Ok(()),
        429 => Code::RateLimited,
        400..=499 => Code::Unauthenticated,
        502..=504 => return Err(Failure::unreachable()),
        _ => Code::Internal,
    };
    let refusal = serde_json::from_str::<Value>(&text).unwrap_or_default();
    let words = match refusal["error"].as_str() {
        Some(words) => sentence(words),
        None => format!("The server refused the sign-in with status {status}."),
    };
    Err(Failure::new(code, words))
}

/// The server's answer about the ways to sign in, which the sign-in page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignInMethods {
    /// The display name of the identity provider, if users can sign in through one.
    pub(crate) provider: Option<String>,
    /// Set as long as no user has signed in.
    pub(crate) first_visit: Option<FirstVisit>,
}

/// The state of a new server: whether anyone can sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstVisit {
    /// The name of the first administrator; `None` if there is none yet.
    pub(crate) administrator: Option<String>,
}

/// The ways to sign in; `None` if the server does not answer.
pub(crate) async fn sign_in_methods() -> Option<SignInMethods> {
    let response = JsFuture::from(window().fetch_with_str("/auth/methods")).await.ok()?;
    let response: Response = response.dyn_into().ok()?;
    let text = JsFuture::from(response.text().ok()?).await.ok()?.as_string()?;
    Some(methods(&serde_json::from_str(&text).ok()?))
}

fn methods(answer: &Value) -> SignInMethods {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let first_visit = answer["first_visit"]
        .as_object()
        .map(|visit| FirstVisit { administrator: visit.get("administrator").and_then(text) });
    SignInMethods { provider: text(&answer["oidc"]["name"]), first_visit }
}

/// The URL that starts a sign-in through the provider; it leads back to the current page.
pub(crate) fn provider_address() -> String {
    let location = window().location();
    let path = location.pathname().unwrap_or_default();
    let search = location.search().unwrap_or_default();
    format!("/auth/oidc/login?to={}", js_sys::encode_uri_component(&format!("{path}{search}")))
}

/// Ends the session. Returns the URL at which the browser signs out of the identity provider, if the session came
/// from one.
///
/// # Errors
/// When the server does not answer; the session then remains valid.
pub(crate) async fn sign_out() -> Result<Option<String>, Failure> {
    let (_, text) = send("/auth/logout", "", None).await.map_err(|_| Failure::unreachable())?;
    let answer = serde_json::from_str::<Value>(&text).unwrap_or_default();
    Ok(answer["continue_at"].as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_ways_to_sign_in_are_read() {
        let read = methods(&json!({ "password": true, "oidc": null, "first_visit": null }));
        assert_eq!((read.provider, read.first_visit), (None, None));
        let visit = json!({ "administrator": "admin" });
        let read = methods(&json!({ "oidc": { "name": "the company" }, "first_visit": visit }));
        assert_eq!(read.provider.as_deref(), Some("the company"));
        let expected = FirstVisit { administrator: Some("admin".to_owned()) };
        assert_eq!(read.first_visit, Some(expected));
        let read = methods(&json!({ "first_visit": { "administrator": null } }));
        assert_eq!(read.first_visit, Some(FirstVisit { administrator: None }));
    }

    #[test]
    fn a_reply_is_its_data_or_its_first_error_or_only_a_status() {
        let read = |status, text: &str| Reply { status, text: text.to_owned() }.data();
        assert_eq!(read(200, r#"{ "data": { "me": null } }"#), Ok(json!({ "me": null })));
        let refused = r#"{ "data": null, "errors": [
            { "message": "no", "extensions": { "code": "FORBIDDEN" } }, { "message": "nor that" }
        ] }"#;
        let code = |outcome: Result<Value, Failure>| outcome.map_err(|failure| failure.code);
        assert_eq!(code(read(200, refused)), Err(Code::Forbidden));
        assert_eq!(code(read(502, "<html>")), Err(Code::Unreachable));
        assert_eq!(code(read(200, "<html>")), Err(Code::Internal));
    }
}
