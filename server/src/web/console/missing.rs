use axum::{
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};

/// No style, no script: it must read well as it is.
const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"color-scheme\" content=\"light dark\"><title>Carillon</title>\
<h1>Carillon is running</h1>\
<p>This binary was built without the console. Build it with <code>make release</code>, \
or build the console with <code>trunk build</code> and start with \
<code>--console-dist dist</code>.</p>\
<p>Here as well: <a href=\"/graphiql\">GraphQL</a>, <a href=\"/healthz\">health</a>, \
<a href=\"/metrics\">metrics</a>.</p></html>\n";

/// How to come by the console; nothing else is there.
pub(super) fn answer(path: &str) -> Response {
    match path {
        "/" => Html(PAGE).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
