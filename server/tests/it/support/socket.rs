use futures::{SinkExt, StreamExt};
use reqwest::{RequestBuilder, Response, StatusCode, Upgraded, header};
use serde_json::{Value, json};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::Server;

/// A socket that speaks `graphql-transport-ws`.
pub(crate) struct Socket(WebSocketStream<Upgraded>);

impl Socket {
    /// The request that opens a socket.
    pub(crate) fn request(server: &Server, path: &str) -> RequestBuilder {
        Self::upgrade(server.get(path))
    }

    /// The request with the headers that open a socket.
    pub(crate) fn upgrade(request: RequestBuilder) -> RequestBuilder {
        request
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, "Y2FyaWxsb24gdGVzdCBrZQ==")
            .header(header::SEC_WEBSOCKET_PROTOCOL, "graphql-transport-ws")
    }

    pub(crate) async fn open(request: RequestBuilder) -> Self {
        let answer: Response = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
        let upgraded = answer.upgrade().await.unwrap();
        Self(WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await)
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message; `None` once the server has closed the socket.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        while let Some(Ok(message)) = self.0.next().await {
            if let Message::Text(text) = message {
                return Some(serde_json::from_str(&text).unwrap());
            }
        }
        None
    }

    /// Waits until the server closes the socket; returns the close code.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        while let Some(Ok(message)) = self.0.next().await {
            if let Message::Close(frame) = message {
                return frame.map(|frame| frame.code.into());
            }
        }
        None
    }

    /// Sends the credentials, and returns the server's answer.
    pub(crate) async fn init(&mut self, payload: Value) -> Option<Value> {
        self.send(json!({ "type": "connection_init", "payload": payload })).await;
        self.next().await
    }

    /// Sends one query and returns its only answer.
    pub(crate) async fn ask(&mut self, query: &str) -> Value {
        let payload = json!({ "query": query });
        self.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
        let mut answer = self.next().await.unwrap();
        if answer["type"] == "next" {
            assert_eq!(self.next().await.unwrap()["type"], "complete");
        }
        answer["payload"].take()
    }
}
