//! A page to try GraphQL out: a query, its answer, subscriptions, the schema to look things up in,
//! and what can stand at the cursor.
//!
//! It is ours, and not GraphiQL: that is 1.6 MB of a hundred packages, which would come from a
//! public network or make Node a part of every build, asks for styles that the content security
//! policy refuses, and would run with the session of whoever opens it. This one is in the binary,
//! works where there is no other network, and keeps the policy of the console. Whatever the server
//! answers is written as text.
//!
//! - `page/`: the page, its styles, and its scripts, which are modules as they stand

use axum::{
    Router,
    http::header,
    response::{Html, IntoResponse},
    routing::get,
};

use super::Web;

const PAGE: &str = include_str!("page/index.html");

/// The colours and faces of the console.
const TOKENS: &str = include_str!("../../../../assets/style/tokens.css");

/// What the page asks for.
const FILES: [(&str, &str, &str); 6] = [
    ("/graphiql/tokens.css", "text/css", TOKENS),
    ("/graphiql/page.css", "text/css", include_str!("page/page.css")),
    ("/graphiql/page.js", "text/javascript", include_str!("page/page.js")),
    ("/graphiql/client.js", "text/javascript", include_str!("page/client.js")),
    ("/graphiql/schema.js", "text/javascript", include_str!("page/schema.js")),
    ("/graphiql/complete.js", "text/javascript", include_str!("page/complete.js")),
];

/// The page and its files. Nothing in them is secret: they are there for strangers, too.
pub(super) fn routes() -> Router<Web> {
    let page = Router::new().route("/graphiql", get(async || Html(PAGE)));
    FILES.into_iter().fold(page, |routes, (path, kind, text)| {
        let file = async move || ([(header::CONTENT_TYPE, kind)], text).into_response();
        routes.route(path, get(file))
    })
}
