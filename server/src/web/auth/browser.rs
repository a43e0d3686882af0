//! The browser of a sign-in, by which people tell their sessions apart.

use axum::http::{HeaderMap, header};

/// Maximum length of the text that is stored.
const MAX: usize = 300;

/// The beginning of the request's `User-Agent` header; `None` without one in plain ASCII.
pub(super) fn sent(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::USER_AGENT)?.to_str().ok()?.trim();
    let kept: String = text.chars().take(MAX).collect();
    (!kept.is_empty()).then_some(kept)
}
