//! Other origins whose pages may call `/graphql`, if the settings list any.
//!
//! Pages of these origins send a token of their own. A cookie is never accepted from them: the
//! response does not allow credentials, and `same_origin` refuses requests with a cookie.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::config::Api;

/// How long a browser may cache the permission.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The layer that allows these origins; `None` if there are none.
pub(super) fn layer(api: &Api) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> =
        api.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let headers = [
        header::ACCEPT,
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        HeaderName::from_static("carillon-reason"),
    ];
    Some(
        CorsLayer::new()
            .allow_origin(AllowOrigin::list(origins))
            .allow_methods([Method::GET, Method::POST])
            .allow_headers(headers)
            .expose_headers([header::RETRY_AFTER])
            .max_age(REMEMBERED),
    )
}
