//! Requests: GraphQL by POST, and sign-in beside it.

use gloo_net::http::Request;
use graphql_client::GraphQLQuery;
use serde::Deserialize;
use web_sys::AbortController;

use super::{
    Code, Failure,
    failure::{WireError, sentence},
};

#[derive(Deserialize)]
struct Response<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<WireError>,
}

/// Aborts the request when the future that waits for it is dropped: a page that goes takes its requests with it.
struct AbortOnDrop(Option<AbortController>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = &self.0 {
            controller.abort();
        }
    }
}

/// Asks the server one operation.
///
/// # Errors
/// The first error of the answer, or why there was none.
pub(super) async fn ask<Q: GraphQLQuery>(
    variables: Q::Variables,
) -> Result<Q::ResponseData, Failure> {
    let guard = AbortOnDrop(AbortController::new().ok());
    let signal = guard.0.as_ref().map(AbortController::signal);
    let response = Request::post("/graphql")
        .header("accept", "application/graphql-response+json, application/json")
        .abort_signal(signal.as_ref())
        .json(&Q::build_query(variables))
        .map_err(Failure::unreadable)?
        .send()
        .await
        .map_err(|_| Failure::unreachable())?;
    let status = response.status();
    let text = response.text().await.map_err(|_| Failure::unreachable())?;
    let answer: Response<Q::ResponseData> = match serde_json::from_str(&text) {
        Ok(answer) => answer,
        Err(why) => return Err(without_graphql(status, why)),
    };
    match (answer.errors.into_iter().next(), answer.data) {
        (Some(error), _) => Err(error.into()),
        (None, Some(data)) => Ok(data),
        (None, None) => Err(Failure::unreadable("it holds neither data nor an error")),
    }
}

/// What stands between the console and GraphQL answers with a status alone.
fn without_graphql(status: u16, why: serde_json::Error) -> Failure {
    match status {
        401 => Failure::new(Code::Unauthenticated, "Your session has ended."),
        403 => Failure::new(Code::Forbidden, "The server refused the request."),
        429 => Failure::new(Code::RateLimited, "Too many requests."),
        502..=504 => Failure::unreachable(),
        _ => Failure::unreadable(format_args!("status {status}, {why}")),
    }
}

/// Opens a session; the cookie comes with the answer.
///
/// # Errors
/// The server's own words when it refuses.
pub(crate) async fn sign_in(name: &str, password: &str) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
    }
    let body = serde_json::json!({ "name": name, "password": password });
    let response = Request::post("/auth/login")
        .json(&body)
        .map_err(Failure::unreadable)?
        .send()
        .await
        .map_err(|_| Failure::unreachable())?;
    if response.ok() {
        return Ok(());
    }
    let code = match response.status() {
        429 => Code::RateLimited,
        400..=499 => Code::Unauthenticated,
        502..=504 => return Err(Failure::unreachable()),
        _ => Code::Internal,
    };
    let words = match response.json::<Refusal>().await {
        Ok(refusal) => refusal.error,
        Err(_) => format!("The server refused the sign-in with status {}.", response.status()),
    };
    Err(Failure::new(code, sentence(&words)))
}

/// Ends the session.
///
/// # Errors
/// When the server does not answer; the session then lives on.
pub(crate) async fn sign_out() -> Result<(), Failure> {
    Request::post("/auth/logout").send().await.map_err(|_| Failure::unreachable())?;
    Ok(())
}
