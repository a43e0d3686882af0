//! The monitoring console: a single-page app, from a directory during development (`console.dist`)
//! or from the binary (feature `embed`).
//!
//! The app's router runs in the browser. So a path that is not a file belongs to the app when a
//! person navigates to it, but a program that mistypes a URL gets an error. Files whose names
//! contain a hash of their content never change and may be cached for ever; the page that names
//! them is revalidated each time.
//!
//! The documentation lies beside the app, in the directory `docs`, and is served under `/docs` as
//! separate pages, which the app's router does not know.
//!
//! - `files`: where the files are
//! - `docs`: the documentation among them
//! - `missing`: the responses if there are no files

mod docs;
mod files;
mod missing;

pub(super) use files::Files;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

use super::{Web, refusal::Refusal};

/// Paths for programs, which never belong to the app.
const PROGRAMS: [&str; 4] = ["/api", "/auth", "/graphql", "/metrics"];

/// Answers every path that no other route answers.
pub(super) async fn serve(State(web): State<Web>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if PROGRAMS.iter().any(|of| path.strip_prefix(of).is_some_and(is_end)) {
        let text = format!("there is nothing at {path}");
        return Refusal::new(StatusCode::NOT_FOUND, text).into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let text = "this address can only be read";
        return Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response();
    }
    if docs::is_below(&path) {
        return docs::serve(&web.files, request).await;
    }
    let navigates = is_navigation(request.headers());
    let (mut parts, body) = request.into_parts();
    let index = Request::from_parts(parts.clone(), axum::body::Body::empty());
    // Each page has a single address: `/index.html` redirects to `/`.
    if path == "/index.html" {
        parts.uri = Uri::from_static("/");
    }
    let mut response = web.files.get(Request::from_parts(parts, body)).await;
    let mut is_page = path == "/" || path == "/index.html";
    if response.status() == StatusCode::NOT_FOUND && navigates && !has_extension(&path) {
        let (mut parts, body) = index.into_parts();
        parts.uri = Uri::from_static("/");
        response = web.files.get(Request::from_parts(parts, body)).await;
        is_page = true;
    }
    let lasting = !is_page && response.status().is_success() && is_hashed(&path);
    let kept = if lasting { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    response
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Whether the request comes from a person's browser that navigates, and not from a program or a
/// script.
fn is_navigation(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-mode") {
        Some(mode) => mode == "navigate",
        None => text("accept").is_some_and(|accept| accept.contains("text/html")),
    }
}

fn has_extension(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

/// Whether the name of the file or of its directory contains a hash of the content:
/// `tokens-0123456789abcdef.css`, `console-0123456789abcdef/frontend.js`.
fn is_hashed(path: &str) -> bool {
    path.split('/').any(|name| {
        name.split(['-', '_', '.'])
            .skip(1)
            .any(|part| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_hash_are_kept_for_ever() {
        assert!(is_hashed("/frontend-0123456789abcdef_bg.wasm"));
        assert!(is_hashed("/tokens-0a1b2c3d4e5f6071.css"));
        assert!(is_hashed("/fonts/inter-693b77d4f32ee9b8.woff2"));
        assert!(is_hashed("/console-0a1b2c3d4e5f6071/frontend.js"));
        assert!(!is_hashed("/fonts/inter.woff2"));
        assert!(!is_hashed("/0123456789abcdef"));
        assert!(!is_hashed("/boot-0123.js"));
    }

    #[test]
    fn a_navigation_is_distinguished_from_a_scripts_request() {
        let of = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            is_navigation(&headers)
        };
        assert!(of(&[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")]));
        assert!(of(&[("sec-fetch-mode", "navigate"), ("accept", "text/html")]));
        assert!(!of(&[("sec-fetch-mode", "cors"), ("accept", "text/html")]));
        assert!(!of(&[("accept", "*/*")]));
        assert!(!of(&[]));
    }
}
