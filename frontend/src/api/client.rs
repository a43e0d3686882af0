//! HTTP requests: GraphQL by POST, and the endpoints for signing in and out.

use leptos::prelude::window;
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, Headers, RequestInit, Response};

use super::ask::{pluck, read};
use crate::model::{Code, Failure, WireError, sentence};

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
    request.set_signal(abort.as_ref());
    let response = JsFuture::from(window().fetch_with_str_and_init(path, &request)).await?;
    let response: Response = response.dyn_into()?;
    let text = JsFuture::from(response.text()?).await?;
    Ok((response.status(), text.as_string().unwrap_or_default()))
}

/// Posts an operation; returns its data.
///
/// # Errors
/// The first error of the answer, or why there was no answer.
pub(super) async fn post(body: String, abort: Option<AbortSignal>) -> Result<Value, Failure> {
    let answer = send("/graphql", &body, abort).await;
    let (status, text) = answer.map_err(|_| Failure::unreachable())?;
    let mut answer: Value =
        serde_json::from_str(&text).map_err(|why| without_graphql(status, why))?;
    match pluck(&mut answer, "/errors/0") {
        Some(error) => Err(read::<WireError>(error)?.into()),
        None => Ok(pluck(&mut answer, "/data").unwrap_or_default()),
    }
}

/// The failure for an answer from a proxy, or from a layer of the server in front of GraphQL: it has only a status.
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
/// The server's own words when it refuses.
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

/// The display name of the identity provider, if users can sign in through one.
pub(crate) async fn identity_provider() -> Option<String> {
    let response = JsFuture::from(window().fetch_with_str("/auth/methods")).await.ok()?;
    let response: Response = response.dyn_into().ok()?;
    let text = JsFuture::from(response.text().ok()?).await.ok()?.as_string()?;
    let methods: Value = serde_json::from_str(&text).ok()?;
    methods["oidc"]["name"].as_str().map(str::to_owned)
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
