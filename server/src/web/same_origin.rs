//! Refuses changes requested by other sites.
//!
//! A browser sends our cookie with a request from any page, so the cookie alone proves nothing. But
//! the browser also reports where a request comes from: in `Sec-Fetch-Site`, and in `Origin` on
//! every POST and every WebSocket. A request without these headers does not come from a browser, so
//! its cookie was set by the client's own user.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    Web, graphql_response,
    refusal::Refusal,
    refusals::{RefusalKind, cut},
};

/// Accepts requests that only read, carry their own token, or come from our own pages.
pub(super) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    // A query by GET causes work, and its duration could reveal something to other sites.
    let asks =
        graphql_response::is_graphql(request.uri().path()) && request.uri().query().is_some();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) && !asks;
    let upgrades = headers.contains_key(header::UPGRADE);
    let has_token = headers.contains_key(header::AUTHORIZATION);
    if (reads && !upgrades) || has_token {
        return next.run(request).await;
    }
    match from_elsewhere(headers, web.config.public_url.as_deref()) {
        None => next.run(request).await,
        Some(origin) => {
            web.refusals.note(RefusalKind::Site, origin);
            let origin = cut(origin);
            let text = format!(
                "this request comes from another site ({origin}); open Carillon at its own \
                 address, or set public_url to the address that browsers use"
            );
            Refusal::new(StatusCode::FORBIDDEN, text).into_response()
        }
    }
}

/// The foreign site from which a request comes, if any.
fn from_elsewhere<'h>(headers: &'h HeaderMap, public_url: Option<&str>) -> Option<&'h str> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let origin = text("origin");
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => return None,
        Some(site) if origin.is_none() => return Some(site),
        // Behind a proxy, the browser may see a different origin than the server does, so compare
        // `Origin` with `public_url` here.
        _ => {}
    }
    let origin = origin?;
    if public_url.is_some_and(|url| url.eq_ignore_ascii_case(origin)) {
        return None;
    }
    let authority = |url: &'h str| url.split_once("://").map(|(_, authority)| authority);
    let is_theirs =
        |ours: &str| authority(origin).is_some_and(|theirs| theirs.eq_ignore_ascii_case(ours));
    // A page of the public name with another scheme is not ours: without TLS anyone on the network
    // could have written it.
    let public = public_url.and_then(|url| url.split_once("://"));
    if public.is_some_and(|(_, authority)| is_theirs(authority)) {
        return Some(origin);
    }
    if text("host").is_some_and(is_theirs) { None } else { Some(origin) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs: &[(&'static str, &'static str)], public_url: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        from_elsewhere(&headers, public_url).is_none()
    }

    #[test]
    fn our_own_pages_and_programs_pass() {
        let host = ("host", "127.0.0.1:8080");
        assert!(judged(&[host], None));
        assert!(judged(&[host, ("origin", "http://127.0.0.1:8080")], None));
        assert!(judged(&[host, ("sec-fetch-site", "same-origin")], None));
        let proxied = [host, ("origin", "https://cron.example.org")];
        assert!(judged(&proxied, Some("https://cron.example.org")));
    }

    #[test]
    fn other_sites_do_not() {
        let host = ("host", "127.0.0.1:8080");
        assert!(!judged(&[host, ("origin", "http://evil.example")], None));
        assert!(!judged(&[host, ("origin", "null")], None));
        assert!(!judged(&[host, ("origin", "http://127.0.0.1:9090")], None));
        assert!(!judged(&[host, ("sec-fetch-site", "cross-site")], None));
        assert!(!judged(&[host, ("sec-fetch-site", "same-site")], None));
        let both = [host, ("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")];
        assert!(!judged(&both, Some("https://cron.example.org")));
        let plain = [("host", "cron.example.org"), ("origin", "http://cron.example.org")];
        assert!(!judged(&plain, Some("https://cron.example.org")));
        assert!(judged(&plain, None));
    }
}
