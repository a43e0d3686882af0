//! The server side of `graphql-transport-ws` and the older `graphql-ws`.
//!
//! The protocol is implemented here, because the library's implementation ends a socket without the
//! codes by which clients decide whether to reconnect, confuses a second operation with the same id
//! with the first, and answers an invalid document as if it had run.

use std::{collections::HashMap, io};

use async_graphql::{Request, Response};
use axum::{
    Error,
    extract::{
        FromRequestParts,
        ws::{CloseFrame, Message, close_code},
    },
    http::{StatusCode, header, request::Parts},
};
use futures::{
    Stream, StreamExt,
    future::AbortHandle,
    stream::{self, BoxStream, SelectAll},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

use crate::api::{self, AnswerPlace};

/// Close code: the message is neither JSON nor a message of the protocol.
const BAD_MESSAGE: u16 = 4400;
/// Close code: the client sent an operation before opening the socket, or is not signed in.
pub(super) const UNAUTHORIZED: u16 = 4401;
/// Close code: the client may try again later.
const FORBIDDEN: u16 = 4403;
/// Close code: `connection_init` did not come in time.
pub(super) const INIT_TIMEOUT: u16 = 4408;
/// Close code: an operation has the id of another one in progress.
const DUPLICATE_ID: u16 = 4409;
/// Close code: there was a second `connection_init`.
const TOO_MANY_INITS: u16 = 4429;
/// A message larger than this (in bytes) waits until the messages before it are written.
const LARGE: usize = 64 * 1024;
/// Maximum number of bytes in the reason of a close frame.
const MAX_REASON: usize = 123;

/// Which of the two protocols a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketProtocol {
    /// `graphql-transport-ws`.
    Transport,
    /// `graphql-ws`, as implemented by `subscriptions-transport-ws`.
    Legacy,
}

impl SocketProtocol {
    /// The offered names, in the order of preference.
    pub(super) const NAMES: [&str; 2] = ["graphql-transport-ws", "graphql-ws"];
}

impl<S: Send + Sync> FromRequestParts<S> for SocketProtocol {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, StatusCode> {
        let offered = parts.headers.get(header::SEC_WEBSOCKET_PROTOCOL);
        let offered = offered.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_offered =
            |name: &str| offered.split(',').any(|one| one.trim().eq_ignore_ascii_case(name));
        let [transport, legacy] = Self::NAMES;
        if is_offered(transport) {
            Ok(Self::Transport)
        } else if is_offered(legacy) {
            Ok(Self::Legacy)
        } else {
            Err(StatusCode::BAD_REQUEST)
        }
    }
}

/// Why a socket is not opened.
#[derive(Debug)]
pub(super) struct RefusedSocket {
    code: u16,
    reason: String,
}

impl RefusedSocket {
    /// The opening message cannot be parsed.
    pub(super) fn bad(reason: impl Into<String>) -> Self {
        Self { code: BAD_MESSAGE, reason: reason.into() }
    }

    /// The client is not signed in.
    pub(super) fn unauthorized(reason: impl Into<String>) -> Self {
        Self { code: UNAUTHORIZED, reason: reason.into() }
    }

    /// Temporarily refused.
    pub(super) fn later(reason: impl Into<String>) -> Self {
        Self { code: FORBIDDEN, reason: reason.into() }
    }
}

impl From<String> for RefusedSocket {
    fn from(reason: String) -> Self {
        Self::later(reason)
    }
}

/// The close frame of a socket.
pub(super) fn closing(code: u16, reason: &str) -> CloseFrame {
    let mut end = reason.len().min(MAX_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    CloseFrame { code, reason: reason.get(..end).unwrap_or_default().into() }
}

/// The close frame for an error that ended the reading of a socket; `None` if the client is gone.
/// Without a code, a client would reconnect and send the same again.
fn broken(error: Error) -> Option<CloseFrame> {
    let error = error.into_inner();
    if let Some(error) = error.downcast_ref::<io::Error>().filter(|error| is_quota(error)) {
        return Some(closing(close_code::SIZE, &error.to_string()));
    }
    let error = error.downcast_ref::<tungstenite::Error>()?;
    let (code, reason) = if let tungstenite::Error::Io(error) = error {
        (is_quota(error).then_some(close_code::SIZE)?, error.to_string())
    } else if matches!(error, tungstenite::Error::Capacity(_)) {
        (close_code::SIZE, error.to_string())
    } else if matches!(error, tungstenite::Error::Utf8(_)) {
        (close_code::INVALID, error.to_string())
    } else if let tungstenite::Error::Protocol(problem) = error
        && *problem != ProtocolError::ResetWithoutClosingHandshake
    {
        (close_code::PROTOCOL, problem.to_string())
    } else {
        return None;
    };
    Some(closing(code, &reason))
}

/// Whether a client sent more than it may.
fn is_quota(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::QuotaExceeded
}

/// A message to a client. The place of a large answer is held until the message is written.
#[derive(Debug)]
pub(super) struct OutgoingMessage {
    pub(super) message: Message,
    pub(super) place: AnswerPlace,
}

impl From<Message> for OutgoingMessage {
    fn from(message: Message) -> Self {
        Self { message, place: AnswerPlace::default() }
    }
}

/// Queues a message. The queue holds at most one large message: a second one waits until the client
/// has read the first.
async fn queue(outgoing: &mpsc::Sender<OutgoingMessage>, sent: OutgoingMessage) -> Option<()> {
    if matches!(&sent.message, Message::Text(text) if text.len() > LARGE) {
        drop(outgoing.reserve_many(outgoing.max_capacity()).await.ok()?);
    }
    outgoing.send(sent).await.ok()
}

/// The responses of an operation, each with its place.
pub(super) type Responses = BoxStream<'static, (Response, AnswerPlace)>;

/// A message from a client.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Received {
    ConnectionInit {
        #[serde(default)]
        payload: serde_json::Value,
    },
    #[serde(alias = "start")]
    Subscribe {
        id: String,
        payload: Box<Request>,
    },
    #[serde(alias = "stop")]
    Complete {
        id: String,
    },
    Ping {
        payload: Option<serde_json::Value>,
    },
    Pong {},
    ConnectionTerminate {},
}

/// A message from the server.
#[derive(Serialize)]
struct ServerMessage<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<T>,
}

impl<T: Serialize> ServerMessage<'_, T> {
    fn message(&self) -> Message {
        // Serialization cannot fail: the message only contains names, numbers and texts.
        Message::text(serde_json::to_string(self).unwrap_or_default())
    }
}

fn bare(id: Option<&str>, kind: &'static str) -> Message {
    ServerMessage::<()> { id, kind, payload: None }.message()
}

/// Runs the protocol until the client disconnects (`None`) or must be disconnected (the close
/// frame). `init` opens the socket, and `execute` starts an operation.
pub(super) async fn serve<F: Future<Output = Result<(), RefusedSocket>>>(
    protocol: SocketProtocol,
    mut incoming: impl Stream<Item = Result<Message, Error>> + Unpin,
    outgoing: &mpsc::Sender<OutgoingMessage>,
    init: impl FnOnce(serde_json::Value) -> F,
    execute: impl Fn(Request) -> Responses,
) -> Option<CloseFrame> {
    let mut conversation = Conversation {
        protocol,
        operations: SelectAll::new(),
        live: HashMap::new(),
        is_open: false,
    };
    let mut init = Some(init);
    loop {
        let sent = tokio::select! {
            received = incoming.next() => match read(received?) {
                Incoming::Broken(frame) => return frame,
                Incoming::Nothing => continue,
                Incoming::Left => return None,
                Incoming::Bad(reason) => return Some(closing(BAD_MESSAGE, &reason)),
                Incoming::Message(Received::ConnectionInit { payload }) => {
                    let Some(init) = init.take() else {
                        let reason = "Too many initialisation requests";
                        return Some(closing(TOO_MANY_INITS, reason));
                    };
                    if let Err(RefusedSocket { code, reason }) = init(payload).await {
                        return Some(closing(code, &reason));
                    }
                    conversation.is_open = true;
                    Some(bare(None, "connection_ack").into())
                }
                Incoming::Message(received) => match conversation.hear(received, &execute) {
                    Ok(sent) => sent,
                    Err(frame) => return frame,
                },
            },
            Some((id, response)) = conversation.operations.next(),
                if !conversation.operations.is_empty() => conversation.tell(&id, response),
        };
        if let Some(sent) = sent {
            queue(outgoing, sent).await?;
        }
    }
}

enum Incoming {
    Message(Received),
    Bad(String),
    Broken(Option<CloseFrame>),
    Left,
    Nothing,
}

fn read(received: Result<Message, Error>) -> Incoming {
    let message = match received {
        Ok(message) => message,
        Err(error) => return Incoming::Broken(broken(error)),
    };
    let read = match &message {
        Message::Text(text) => serde_json::from_str(text),
        Message::Binary(bytes) => serde_json::from_slice(bytes),
        Message::Close(_) => return Incoming::Left,
        Message::Ping(_) | Message::Pong(_) => return Incoming::Nothing,
    };
    match read {
        Ok(received) => Incoming::Message(received),
        Err(error) => Incoming::Bad(format!("Invalid message: {error}")),
    }
}

/// The responses of one operation, each under the operation's id; `None` marks its end.
type Operation = BoxStream<'static, (String, Option<(Response, AnswerPlace)>)>;

/// The state of one socket.
struct Conversation {
    protocol: SocketProtocol,
    operations: SelectAll<Operation>,
    live: HashMap<String, AbortHandle>,
    is_open: bool,
}

impl Conversation {
    /// Handles a message; returns an immediate reply. An error closes the socket.
    fn hear(
        &mut self,
        received: Received,
        execute: impl Fn(Request) -> Responses,
    ) -> Result<Option<OutgoingMessage>, Option<CloseFrame>> {
        match received {
            Received::Subscribe { .. } if !self.is_open => {
                Err(Some(closing(UNAUTHORIZED, "Unauthorized")))
            }
            Received::Subscribe { id, payload } => {
                if self.live.contains_key(&id) {
                    let reason = format!("Subscriber for {id} already exists");
                    return Err(Some(closing(DUPLICATE_ID, &reason)));
                }
                let answers = execute(*payload).map(Some).chain(stream::iter([None]));
                let (answers, handle) = stream::abortable(answers);
                let name = id.clone();
                self.operations.push(answers.map(move |answer| (name.clone(), answer)).boxed());
                self.live.insert(id, handle);
                Ok(None)
            }
            Received::Complete { id } => {
                let ended = self.live.remove(&id);
                ended.iter().for_each(AbortHandle::abort);
                // In the older protocol, the server confirms the end of an operation, too.
                let is_told = self.protocol == SocketProtocol::Legacy && ended.is_some();
                Ok(is_told.then(|| bare(Some(&id), "complete").into()))
            }
            Received::Ping { payload } => {
                Ok(Some(ServerMessage { id: None, kind: "pong", payload }.message().into()))
            }
            Received::Pong {} | Received::ConnectionInit { .. } => Ok(None),
            Received::ConnectionTerminate {} => Err(None),
        }
    }

    /// A response of an operation, or its end.
    fn tell(
        &mut self,
        id: &str,
        response: Option<(Response, AnswerPlace)>,
    ) -> Option<OutgoingMessage> {
        let Some((response, place)) = response else {
            return self.live.remove(id).map(|_| bare(Some(id), "complete").into());
        };
        if !api::is_refused(&response) {
            let kind = match self.protocol {
                SocketProtocol::Transport => "next",
                SocketProtocol::Legacy => "data",
            };
            let message = ServerMessage { id: Some(id), kind, payload: Some(response) }.message();
            return Some(OutgoingMessage { message, place });
        }
        // An error message ends its operation.
        self.live.remove(id).iter().for_each(AbortHandle::abort);
        let id = Some(id);
        let message = match self.protocol {
            SocketProtocol::Transport => {
                ServerMessage { id, kind: "error", payload: Some(&response.errors) }.message()
            }
            SocketProtocol::Legacy => {
                ServerMessage { id, kind: "error", payload: response.errors.first() }.message()
            }
        };
        Some(message.into())
    }
}
