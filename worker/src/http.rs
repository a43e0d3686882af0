//! JSON over HTTP, with retries after errors that may be temporary.

use std::time::Duration;

use rand::Rng;
use reqwest::{Client, Response, header, redirect::Policy};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::{ApiError, Error};

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(15);
const LONGEST_RETRY_AFTER: u64 = 300;
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) const CLIENT: &str = concat!("carillon-worker-rust/", env!("CARGO_PKG_VERSION"));

/// A server, and the connections to it.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client,
    base: String,
    token: String,
}

impl Http {
    pub(crate) fn new(url: &str, token: &str) -> Result<Self, Error> {
        // An application that has already installed a cryptography provider keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().user_agent(CLIENT).redirect(Policy::none()).build()?;
        Ok(Self { client, base: url.trim_end_matches('/').to_owned(), token: token.to_owned() })
    }

    /// Sends one request.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.post_within(path, body, TIMEOUT).await
    }

    pub(crate) async fn post_within(
        &self,
        path: &str,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, Error> {
        let request = self.client.post(format!("{}{path}", self.base));
        let request = request.bearer_auth(&self.token).timeout(timeout).json(body);
        let answer = request.send().await?;
        if answer.status().is_success() {
            return Ok(answer.json().await?);
        }
        Err(refusal(answer).await.into())
    }

    /// Repeats a request until it is answered. Returns the last error if `given_up` is cancelled
    /// first.
    pub(crate) async fn call(
        &self,
        path: &str,
        body: &Value,
        given_up: &CancellationToken,
    ) -> Result<Value, Error> {
        let mut failures = 0;
        loop {
            let error = match self.post(path, body).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_passing() => error,
                Err(error) => return Err(error),
            };
            let delay = delay_after(failures, error.retry_after());
            failures += 1;
            tracing::warn!(path, %error, ?delay, "trying again");
            if given_up.run_until_cancelled(pause(delay)).await.is_none() {
                return Err(error);
            }
        }
    }
}

/// The delay before the next request, after this many failures in a row.
pub(crate) fn delay_after(failures: u32, retry_after: Option<Duration>) -> Duration {
    let longest = FIRST_DELAY.saturating_mul(1 << failures.min(16)).min(LONGEST_DELAY);
    let share: f64 = rand::rng().random();
    match retry_after {
        // Jitter keeps workers that got the same answer from returning at the same time.
        Some(least) => least + longest.mul_f64(share),
        None => longest.mul_f64(0.5 + share / 2.0),
    }
}

#[expect(clippy::disallowed_methods, reason = "a worker lives outside of the server and its clock")]
pub(crate) async fn pause(delay: Duration) {
    tokio::time::sleep(delay).await;
}

async fn refusal(answer: Response) -> ApiError {
    let status = answer.status().as_u16();
    let seconds = answer.headers().get(header::RETRY_AFTER);
    let seconds = seconds.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let retry_after = seconds.map(|s| Duration::from_secs(s.min(LONGEST_RETRY_AFTER)));
    let said: Value = answer.json().await.unwrap_or_default();
    // The error is in the protocol's form, in GraphQL's, or a text alone.
    let (error, of_graphql) = (&said["error"], &said["errors"][0]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let code = text(&error["code"]).or_else(|| text(&of_graphql["extensions"]["code"]));
    let message = text(&error["message"]).or_else(|| text(&of_graphql["message"]));
    let message = message.or_else(|| text(error));
    ApiError {
        status,
        code: code.unwrap_or_else(|| format!("HTTP_{status}")),
        message: message.unwrap_or_else(|| format!("the server answered with status {status}")),
        retry_after,
    }
}
