use chrono::{DateTime, Utc};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{definition::Method, prepare::Prepared};
use crate::{clock::Clock, target::Invocation};

/// The headers and the body of one attempt's request.
#[derive(Clone)]
pub(super) struct HttpMessage {
    pub(super) method: reqwest::Method,
    /// Carillon's own headers, for any receiver.
    pub(super) headers: HeaderMap,
    /// Headers that only the receiver in the definition may see.
    pub(super) private_headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Composes the message of this attempt. Fails if the idempotency key is not a valid header value.
pub(super) fn compose(
    request: &Prepared<'_>,
    invocation: &Invocation,
    clock: &Clock,
) -> Result<HttpMessage, String> {
    let key = HeaderValue::from_bytes(invocation.idempotency_key.as_bytes())
        .map_err(|_| "the idempotency key has a control character".to_owned())?;
    let mut headers = HeaderMap::new();
    let mut private_headers = HeaderMap::new();

    let now = clock.now();
    let (body, content_type) = body(request, invocation, now);
    if let Some(content_type) = content_type {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    if let Some(signer) = &request.signer {
        let signature = signer.sign(&invocation.idempotency_key, now, &body);
        private_headers.insert(WEBHOOK_ID, key.clone());
        private_headers.insert(WEBHOOK_TIMESTAMP, HeaderValue::from(now.timestamp()));
        if let Ok(signature) = HeaderValue::try_from(signature) {
            private_headers.insert(WEBHOOK_SIGNATURE, signature);
        }
    }
    headers.insert(IDEMPOTENCY_KEY, key);
    // A malformed trace context is a bug in Carillon, so the request is sent without it.
    if let Some(Ok(parent)) = invocation.traceparent.as_deref().map(HeaderValue::try_from) {
        headers.insert(TRACEPARENT, parent);
    }
    for (name, value) in &request.headers {
        private_headers.insert(name.clone(), value.clone());
    }
    Ok(HttpMessage { method: request.method.clone(), headers, private_headers, body })
}

fn body(
    request: &Prepared<'_>,
    invocation: &Invocation,
    now: DateTime<Utc>,
) -> (Vec<u8>, Option<&'static str>) {
    let json = |value: &Value| (value.to_string().into_bytes(), Some("application/json"));
    match (&request.definition.body, request.definition.method) {
        (Some(Value::String(text)), _) if text.is_empty() => (Vec::new(), None),
        (Some(Value::String(text)), _) => {
            let kind = if is_json(text) { "application/json" } else { "text/plain; charset=utf-8" };
            (text.clone().into_bytes(), Some(kind))
        }
        (Some(value), _) => json(value),
        (None, Method::Post | Method::Put | Method::Patch) => json(&announcement(invocation, now)),
        (None, Method::Get | Method::Head | Method::Delete | Method::Options) => (Vec::new(), None),
    }
}

/// Whether a text is a JSON object or array, as templates often produce. A word or a number could
/// be JSON by chance.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The body of a request whose definition has none. This body identifies the fire.
fn announcement(invocation: &Invocation, now: DateTime<Utc>) -> Value {
    json!({
        "id": invocation.idempotency_key,
        "namespace": invocation.namespace,
        "schedule_id": invocation.schedule_id,
        "schedule": invocation.schedule,
        "version": invocation.schedule_version,
        "scheduled_at": invocation.scheduled_at,
        "generated_at": now,
        "run_id": invocation.run_id,
        "attempt": invocation.attempt,
        "context": invocation.context,
    })
}
