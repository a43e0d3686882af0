use axum::{
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};

/// The page that is shown without a console. It has no styles and scripts, so it must read well
/// without them.
const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"color-scheme\" content=\"light dark\"><title>Carillon</title>\
<h1>Carillon is running</h1>\
<p>This binary was built without the console. Build it with <code>make release</code>, \
or build the console with <code>trunk build</code> and start with \
<code>--console-dist dist</code>.</p>\
<p>Here as well: <a href=\"/graphiql\">GraphQL</a>, <a href=\"/healthz\">health</a>, \
<a href=\"/metrics\">metrics</a>.</p></html>\n";

/// The page that is shown without documentation.
const NO_DOCS: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"color-scheme\" content=\"light dark\"><title>Carillon</title>\
<h1>The documentation is not here</h1>\
<p>This server was built without it. <code>make release</code> puts it into the binary; \
<code>make docs</code> builds it into <code>dist/docs</code>, for \
<code>--console-dist dist</code>.</p><p><a href=\"/\">Back to Carillon</a></p></html>\n";
/// The page that is shown if the documentation has no such page.
const NO_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"color-scheme\" content=\"light dark\"><title>Carillon</title>\
<h1>There is no such page</h1>\
<p><a href=\"/docs/\">The documentation</a> · <a href=\"/\">Carillon</a></p></html>\n";

/// The response if the documentation has no such page, or if there is no documentation at all.
pub(super) fn docs(has_docs: bool) -> Response {
    let page = if has_docs { NO_PAGE } else { NO_DOCS };
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}

/// Explains how to get the console, because the server has no console files.
pub(super) fn answer(path: &str) -> Response {
    match path {
        "/" => Html(PAGE).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
