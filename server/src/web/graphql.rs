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

use super::{
    Web, auth::Asking, inbound::Inbound, refusal::Refusal, refusals::Kind, router::GRAPHQL_BODY,
};

/// Bytes that a socket may send before its client signs in: what opens it, and no more.
const STRANGERS_SOCKET: u64 = 4 * 1024;
/// A socket reads in pieces of so many bytes, and holds as many of them for each client.
const PIECE: usize = 4 * 1024;

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
    inbound: Option<Extension<Inbound>>,
    protocol: Result<GraphQLProtocol, StatusCode>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let (Ok(protocol), Ok(upgrade)) = (protocol, upgrade) else {
        let text = "queries and mutations come by POST; for subscriptions open a WebSocket with the \
                    protocol graphql-transport-ws";
        return Refusal::new(StatusCode::BAD_REQUEST, text).into_response();
    };
    let place = match web.sockets.of_address(asking.address) {
        Ok(place) => place,
        Err(text) => {
            web.refusals.note(Kind::Socket, &asking.address.to_string());
            return Refusal::too_many(text, 1).into_response();
        }
    };
    let Extension(inbound) = inbound.unwrap_or_default();
    if asking.viewer.is_none() {
        inbound.limit(STRANGERS_SOCKET);
    }
    // A document may be as large as by POST.
    let upgrade = upgrade.protocols(ALL_WEBSOCKET_PROTOCOLS);
    let upgrade = upgrade.max_message_size(GRAPHQL_BODY).max_frame_size(GRAPHQL_BODY);
    upgrade.read_buffer_size(PIECE).on_upgrade(async move |socket| {
        super::socket::serve(socket, protocol, web, asking, inbound).await;
        drop(place);
    })
}
