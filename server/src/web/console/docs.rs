//! The documentation, under `/docs`: the output of `make docs` beside the console.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};

use super::{Files, missing};

const INDEX: &str = "/docs/index.html";

/// Whether a path belongs to the documentation.
pub(super) fn is_below(path: &str) -> bool {
    path.strip_prefix("/docs").is_some_and(super::is_end)
}

/// Serves a page or file of the documentation. The file names contain no hash, so each file is
/// revalidated.
pub(super) async fn serve(files: &Files, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    match parts.uri.path() {
        // The page's links are relative to the directory.
        "/docs" => return Redirect::permanent("/docs/").into_response(),
        "/docs/" => parts.uri = Uri::from_static(INDEX),
        _ => {}
    }
    let mut response = files.get(Request::from_parts(parts, body)).await;
    if response.status() == StatusCode::NOT_FOUND {
        let index = Request::builder().uri(INDEX).body(Body::empty()).unwrap_or_default();
        let has_docs = files.get(index).await.status().is_success();
        response = missing::docs(has_docs);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_its_folder_and_nothing_beside_it() {
        assert!(["/docs", "/docs/", "/docs/a/b.html"].into_iter().all(is_below));
        assert!(["/", "/doc", "/docs.html", "/a/docs"].into_iter().all(|path| !is_below(path)));
    }
}
