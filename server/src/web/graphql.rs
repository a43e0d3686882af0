//! The control plane's door: POST for queries and mutations, `graphql-transport-ws` for
//! subscriptions.

use async_graphql::{Request, http::ALL_WEBSOCKET_PROTOCOLS};
use async_graphql_axum::{GraphQLProtocol, GraphQLResponse};
use axum::{
    Extension, Json,
    extract::{
        State, WebSocketUpgrade, rejection::JsonRejection, ws::rejection::WebSocketUpgradeRejection,
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{Web, auth::Asking, refusal::Refusal};

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
        let text = format!("{}; send one {{\"query\": ...}} as JSON", rejection.body_text());
        Refusal::new(rejection.status(), text)
    })?;
    if let Some(viewer) = asking.viewer {
        request = request.data(viewer);
    }
    Ok(web.schema.execute(request).await.into())
}

/// Subscriptions, and whatever else a client likes to send over a socket.
pub(super) async fn subscribe(
    State(web): State<Web>,
    Extension(asking): Extension<Asking>,
    protocol: Result<GraphQLProtocol, StatusCode>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let (Ok(protocol), Ok(upgrade)) = (protocol, upgrade) else {
        let text = "queries and mutations come by POST; for subscriptions open a WebSocket with the \
                    protocol graphql-transport-ws";
        return Refusal::new(StatusCode::BAD_REQUEST, text).into_response();
    };
    let upgrade = upgrade.protocols(ALL_WEBSOCKET_PROTOCOLS).max_message_size(MESSAGE);
    upgrade.on_upgrade(move |socket| super::socket::serve(socket, protocol, web, asking))
}
