//! A page for trying out GraphQL: a query, its response, subscriptions, the schema for reference,
//! and completion at the cursor.
//!
//! This page is our own and not GraphiQL, which has 1.6 MB from a hundred packages. These would
//! come from a public network or make Node a part of every build. GraphiQL also needs styles that
//! the content security policy refuses, and would run with its user's session. Our page is in the
//! binary, works without an internet connection, and complies with the console's policy. It shows
//! all responses of the server as text, never as markup.
//!
//! - `page/`: the page, its styles, and its scripts, which are unbundled modules

use axum::{
    Router,
    http::header,
    response::{Html, IntoResponse},
    routing::get,
};

use super::Web;

const PAGE: &str = include_str!("page/index.html");

/// The colours and fonts of the console.
const TOKENS: &str = include_str!("../../../../assets/style/tokens.css");

/// The files that the page loads.
const FILES: [(&str, &str, &str); 6] = [
    ("/graphiql/tokens.css", "text/css", TOKENS),
    ("/graphiql/page.css", "text/css", include_str!("page/page.css")),
    ("/graphiql/page.js", "text/javascript", include_str!("page/page.js")),
    ("/graphiql/client.js", "text/javascript", include_str!("page/client.js")),
    ("/graphiql/schema.js", "text/javascript", include_str!("page/schema.js")),
    ("/graphiql/complete.js", "text/javascript", include_str!("page/complete.js")),
];

/// The page and its files. They contain nothing secret, so unauthenticated callers may load them,
/// too.
pub(super) fn routes() -> Router<Web> {
    let page = Router::new().route("/graphiql", get(async || Html(PAGE)));
    FILES.into_iter().fold(page, |routes, (path, kind, text)| {
        let file = async move || ([(header::CONTENT_TYPE, kind)], text).into_response();
        routes.route(path, get(file))
    })
}
