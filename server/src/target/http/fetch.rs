use std::time::Duration;

use reqwest::{
    Client, Request, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};

use super::{client::ClientFactory, failure::explain, place::origin};
use crate::target::{
    Policy, TargetError,
    egress::{EgressGuard, Resolver},
};

/// Timeout for a whole response.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a response: no document that the server expects is larger.
const MAX_BYTES: usize = 1024 * 1024;

/// Sends the server's own requests to destinations that its operator configured: within the egress
/// policy, without following redirects, and with limits of time and size.
#[derive(Debug)]
pub struct Fetcher {
    client: Client,
    egress: EgressGuard,
}

/// A response.
#[derive(Debug)]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The header `content-type`, if there is one.
    pub content_type: Option<HeaderValue>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there was no response. Messages are printed after "failed to", and name only the URL's
/// origin.
#[derive(Debug, thiserror::Error)]
#[error("ask {origin}: {problem}")]
pub struct FetchError {
    origin: String,
    problem: String,
}

impl Fetcher {
    /// A fetcher for that policy.
    pub fn new(policy: &Policy) -> Result<Self, TargetError> {
        let egress = EgressGuard::new(policy.private_addresses);
        let factory = ClientFactory::new(Resolver::new(egress), policy.ca_pem.as_deref())?;
        Ok(Self { client: factory.client()?, egress })
    }

    /// Sends a request and reads the whole response.
    pub async fn fetch(&self, mut request: Request) -> Result<Fetched, FetchError> {
        let url = request.url().clone();
        let failed = |problem: String| FetchError { origin: origin(&url), problem };
        self.egress.admit(&url).map_err(|refused| failed(format!("refused: {refused}")))?;
        *request.timeout_mut() = Some(PATIENCE);
        let broken = |error: reqwest::Error| match error.is_timeout() {
            true => failed(format!("no answer within {} s", PATIENCE.as_secs())),
            false => failed(explain(&error, &url)),
        };
        let mut answer = self.client.execute(request).await.map_err(broken)?;
        let status = answer.status();
        let content_type = answer.headers().get(CONTENT_TYPE).cloned();
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(broken)? {
            if body.len() + part.len() > MAX_BYTES {
                return Err(failed(format!("the answer has more than {MAX_BYTES} bytes")));
            }
            body.extend_from_slice(&part);
        }
        Ok(Fetched { status, content_type, body })
    }
}
