//! The control plane's door: POST for queries and mutations, `graphql-transport-ws` for
//! subscriptions, and GraphiQL for trying them out.

use async_graphql::{Data, Request, http::ALL_WEBSOCKET_PROTOCOLS};
use async_graphql_axum::{GraphQLProtocol, GraphQLResponse, GraphQLWebSocket};
use axum::{
    Extension, Json,
    extract::{State, WebSocketUpgrade, rejection::JsonRejection},
    http::header,
    response::{Html, IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    Web,
    auth::{Asking, from_token},
    refusal::Refusal,
};

/// A subscriber that sends more than this in one message is no client of ours.
const MESSAGE: usize = 1024 * 1024;

/// Queries and mutations: JSON only, within the router's limit. The extractor that comes with the
/// library would also take uploads and read without end.
pub(super) async fn execute(
    State(web): State<Web>,
    Extension(asking): Extension<Asking>,
    request: Result<Json<Request>, JsonRejection>,
) -> Result<GraphQLResponse, Refusal> {
    let Json(mut request) = request.map_err(|rejection| {
        let text = format!("{}; send {{\"query\": ...}} as JSON", rejection.body_text());
        Refusal::new(rejection.status(), text)
    })?;
    if let Some(viewer) = asking.viewer {
        request = request.data(viewer);
    }
    Ok(web.schema.execute(request).await.into())
}

/// What a client may send when it opens the socket.
#[derive(Debug, Deserialize)]
struct Init {
    token: Option<String>,
}

/// Subscriptions. A client without a cookie sends its token in `connection_init`.
pub(super) async fn subscribe(
    State(web): State<Web>,
    Extension(asking): Extension<Asking>,
    protocol: GraphQLProtocol,
    upgrade: WebSocketUpgrade,
) -> Response {
    let schema = web.schema.clone();
    let upgrade = upgrade.protocols(ALL_WEBSOCKET_PROTOCOLS).max_message_size(MESSAGE);
    upgrade.on_upgrade(move |socket| async move {
        let init = move |payload: serde_json::Value| async move {
            let init: Option<Init> = serde_json::from_value(payload)?;
            let viewer = match init.and_then(|init| init.token) {
                Some(token) => {
                    let found = from_token(&web, &token, asking.address).await;
                    let found = found.map_err(|_| "the server could not look the token up")?;
                    Some(found.ok_or("this token is unknown, expired or revoked")?)
                }
                None => asking.viewer,
            };
            let mut data = Data::default();
            if let Some(viewer) = viewer {
                data.insert(viewer);
            }
            Ok(data)
        };
        GraphQLWebSocket::new(socket, schema, protocol).on_connection_init(init).serve().await;
    })
}

/// GraphiQL comes from a public network, so this one page may load from there.
const GRAPHIQL_POLICY: &str = "default-src 'self'; \
    script-src 'self' 'unsafe-inline' https://unpkg.com; \
    style-src 'self' 'unsafe-inline' https://unpkg.com; \
    font-src 'self' data: https://unpkg.com; img-src 'self' data:; connect-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// The page.
pub(super) async fn graphiql() -> Response {
    let page = async_graphql::http::GraphiQLSource::build()
        .endpoint("/graphql")
        .subscription_endpoint("/graphql/ws")
        .title("Carillon GraphiQL")
        .finish();
    let note = "GraphiQL is loaded from unpkg.com. If this text stays, this browser cannot reach \
                it: the schema is what 'carillon schema' prints.";
    let page = page.replace("Loading...", note);
    ([(header::CONTENT_SECURITY_POLICY, GRAPHIQL_POLICY)], Html(page)).into_response()
}
