use std::time::Duration;

use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::{Map, Value, json};

use super::definition::Http;
use crate::target::{
    result::{MAX_NESTING, nesting},
    text::{millis, storable},
};

/// The kept part of a response.
pub(super) struct KeptResponse {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    truncated: bool,
    redirects: u8,
}

/// The headers that are useful to an operator or a later task. Cookies are not included.
const KEPT: [&str; 6] =
    ["content-type", "content-length", "etag", "location", "retry-after", "x-request-id"];

/// Maximum size of a stored JSON body: that of a context.
const MAX_JSON: usize = 256 * 1024;

/// How many bytes of any other body are stored, from its beginning, for operators to read.
const MAX_TEXT: usize = 64 * 1024;

impl KeptResponse {
    /// Reads a response, with at most `limit` bytes of its body.
    pub(super) async fn read(
        mut response: Response,
        limit: usize,
        redirects: u8,
    ) -> Result<Self, reqwest::Error> {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut answer = Self { status, headers, body: Vec::new(), truncated: false, redirects };
        while let Some(chunk) = response.chunk().await? {
            let room = limit - answer.body.len();
            answer.body.extend(chunk.iter().take(room));
            if chunk.len() > room {
                // The rest of a larger body is not read; the connection is dropped.
                answer.truncated = true;
                break;
            }
        }
        Ok(answer)
    }

    /// Fails, with the difference, unless the response is as the definition expects.
    pub(super) fn judge(&self, definition: &Http) -> Result<(), String> {
        if !definition.expected_status.contains(self.status.as_u16()) {
            let expected = &definition.expected_status;
            return Err(format!("answered {}, expected {expected}", self.status));
        }
        let Some(expected) = &definition.expected_body else { return Ok(()) };
        if memmem(&self.body, expected.as_bytes()) {
            return Ok(());
        }
        let part = if self.truncated {
            format!("the first {} bytes of its answer do", self.body.len())
        } else {
            "its answer does".to_owned()
        };
        Err(format!("answered {}, but {part} not contain the expected text", self.status))
    }

    /// A line for the log, to be appended to the name of the server.
    pub(super) fn line(&self) -> String {
        let more = if self.truncated { "; output truncated: more than" } else { "," };
        format!("answered {}{more} {} bytes", self.status, self.body.len())
    }

    /// The stored part of the response.
    pub(super) fn output(&self, took: Duration) -> Value {
        let headers: Map<_, _> = KEPT
            .iter()
            .filter_map(|name| Some((*name, self.headers.get(*name)?)))
            .map(|(name, value)| (name.to_owned(), storable(value.as_bytes()).into()))
            .collect();
        let (body, truncated) = self.body();
        json!({
            "status": self.status.as_u16(),
            "headers": headers,
            "body": body,
            "body_truncated": truncated,
            "redirects": self.redirects,
            "duration_ms": millis(took),
        })
    }

    /// The body, as JSON if it is valid JSON, otherwise as text; and whether a part of it is left
    /// out.
    fn body(&self) -> (Value, bool) {
        // Not every database can store an escaped NUL as JSON, and JSON that nests too deep could
        // not be parsed again. In both cases the body is stored as text.
        let plain = !self.truncated
            && self.body.len() <= MAX_JSON
            && !memmem(&self.body, br"\u0000")
            && nesting(&self.body) <= MAX_NESTING;
        if plain
            && self.is_json()
            && let Ok(value) = serde_json::from_slice(&self.body)
        {
            return (value, false);
        }
        let stored = &self.body[..self.body.len().min(MAX_TEXT)];
        (Value::String(storable(stored)), self.truncated || stored.len() < self.body.len())
    }

    fn is_json(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        essence == "application/json" || essence.ends_with("+json")
    }
}

fn memmem(hay: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || hay.windows(needle.len()).any(|window| window == needle)
}
