//! The GraphQL endpoint: POST for queries and mutations, GET for queries, and
//! `graphql-transport-ws` for subscriptions.

use axum::{
    Extension,
    body::Bytes,
    extract::{Request, State, WebSocketUpgrade, ws::rejection::WebSocketUpgradeRejection},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    Web,
    auth::Requester,
    graphql_request,
    graphql_response::{Media, answer},
    inbound::{Inbound, STRANGERS_SOCKET},
    refusal::Refusal,
    refusals::RefusalKind,
    transport::SocketProtocol,
};
use crate::api::{self, AnswerPlace};

/// Size of the pieces in which a socket is read, and of the write buffer of each client, in bytes.
const PIECE: usize = 4 * 1024;

/// Maximum size of a message over a socket. It is smaller than that of a body, because a person may
/// hold back the ends of messages on many sockets at once.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Executes queries and mutations: JSON only, within the router's limit. The library's own
/// extractor would also accept uploads and read without a limit.
pub(super) async fn execute(
    State(web): State<Web>,
    Extension(asking): Extension<Requester>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let request = graphql_request::in_body(&headers, &body)?;
    Ok(run(&web, asking, Media::asked(&headers), request).await)
}

/// Executes queries by GET, so that clients can link to them and cache them. A mutation is refused,
/// because a link must not change anything. A request without a query is passed on to
/// [`subscribe`].
pub(super) async fn by_get(State(web): State<Web>, request: Request, next: Next) -> Response {
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    let is_get = matches!(*request.method(), Method::GET) && !is_upgrade;
    let asked = request.uri().query().filter(|_| is_get).and_then(graphql_request::in_address);
    let asking = request.extensions().get::<Requester>().cloned();
    let (Some(asked), Some(asking)) = (asked, asking) else { return next.run(request).await };
    let mut asked = match asked {
        Ok(asked) => asked,
        Err(refusal) => return refusal.into_response(),
    };
    if api::is_mutation(&mut asked) {
        let text = "send mutations by POST; a GET only reads";
        let mut response = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response();
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    run(&web, asking, Media::asked(request.headers()), asked).await
}

async fn run(
    web: &Web,
    asking: Requester,
    media: Media,
    mut request: async_graphql::Request,
) -> Response {
    if let Some(viewer) = asking.viewer {
        request = request.data(viewer);
    }
    let place = AnswerPlace::default();
    let request = request.data(place.clone());
    answer(media, &api::execute(&web.schema, request).await, place)
}

/// Serves subscriptions, and all other operations that a client sends over a socket.
pub(super) async fn subscribe(
    State(web): State<Web>,
    Extension(asking): Extension<Requester>,
    inbound: Option<Extension<Inbound>>,
    protocol: Result<SocketProtocol, StatusCode>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let (Ok(protocol), Ok(upgrade)) = (protocol, upgrade) else {
        let text = "send mutations by POST, queries by POST or as ?query=...; for subscriptions \
                    open a WebSocket with the protocol graphql-transport-ws";
        return Refusal::new(StatusCode::BAD_REQUEST, text).into_response();
    };
    let place = match web.sockets.of_address(asking.address) {
        Ok(place) => place,
        Err(text) => {
            web.refusals.note(RefusalKind::Socket, &asking.address.to_string());
            return Refusal::too_many(text, 1).into_response();
        }
    };
    let Extension(inbound) = inbound.unwrap_or_default();
    if asking.viewer.is_none() {
        inbound.limit(STRANGERS_SOCKET);
    }
    let upgrade = upgrade.protocols(SocketProtocol::NAMES);
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    upgrade.read_buffer_size(PIECE).on_upgrade(async move |socket| {
        super::socket::serve(socket, protocol, web, asking, inbound).await;
        drop(place);
    })
}
