//! Pages of other origins that may call `/graphql`, where the settings name them.
//!
//! They call with a token of their own. A cookie is never accepted from them: the answer does not
//! allow credentials, and `same_origin` refuses what comes with one.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::config::Api;

/// How long a browser may remember what it was allowed.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The layer that allows them; None where there are none.
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
