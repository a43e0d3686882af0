//! The headers of every response.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

use super::Web;

/// The console loads nothing from other servers and runs no inline scripts. Compiling its
/// WebAssembly is permitted.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; font-src 'self'; object-src 'none'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Adds the common headers that a response does not set itself.
pub(super) async fn secure(State(web): State<Web>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    add(headers, header::CONTENT_SECURITY_POLICY, POLICY);
    add(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(headers, header::REFERRER_POLICY, "same-origin");
    add(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    add(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if web.config.is_secure() {
        add(headers, header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    response
}

fn add(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

/// Prevents caching of responses that are for one person or one instant.
pub(super) async fn never_stored(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    add(response.headers_mut(), header::CACHE_CONTROL, "no-store");
    response
}
