//! Serves a WebSocket: subscriptions, as long as the subscriber may see their events.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_graphql::{ErrorExtensionValues, Request, Response, ServerError};
use axum::extract::ws::{Message, WebSocket};
use futures::{SinkExt, StreamExt, stream};
use serde::Deserialize;
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

use super::{
    Web,
    auth::{self, Credential, Requester},
    counter::CountedItem,
    graphql_response,
    inbound::Inbound,
    refusal::Refusal,
    transport::{
        self, INIT_TIMEOUT, OutgoingMessage, RefusedSocket, Responses, SocketProtocol,
        UNAUTHORIZED, closing,
    },
};
use crate::{
    access::{Grants, Viewer},
    api::{self, AnswerPlace},
    clock::Clock,
};

/// How long a client may take to sign in after opening a socket.
const INIT: Duration = Duration::from_secs(10);
/// Interval for checking that the client is still there and that its rights have not changed.
const BEAT: Duration = Duration::from_secs(5);
/// After this many unanswered pings, the client counts as gone.
const SILENT_BEATS: u32 = 6;
/// Maximum number of operations in progress on one socket.
const OPERATIONS: usize = 100;
/// Maximum number of queued messages for a client.
const QUEUE: usize = 64;

/// How long the socket stays open after its close frame if the client may still be sending. The
/// server does not read the rest.
const LINGER: Duration = Duration::from_secs(1);
/// How long a client may take to read and answer the frame that ends its socket.
const CLOSING: Duration = Duration::from_secs(5);

/// The parameters that a client may send when it opens the socket.
#[derive(Debug, Deserialize)]
struct Init {
    token: Option<String>,
    /// The token in the form of the `Authorization` header. Clients send it here or among
    /// `headers`.
    #[serde(alias = "Authorization", alias = "authToken")]
    authorization: Option<String>,
    #[serde(default)]
    headers: HashMap<String, serde_json::Value>,
    /// The reason for all mutations over the socket, because browsers cannot set its headers.
    reason: Option<String>,
}

impl Init {
    /// The token, from whichever parameter contains it.
    fn bearer(&mut self) -> Option<String> {
        let named = |(name, value): (&String, &serde_json::Value)| {
            let is_it = name.eq_ignore_ascii_case("authorization");
            value.as_str().filter(|_| is_it).map(str::to_owned)
        };
        let header = || self.authorization.take().or_else(|| self.headers.iter().find_map(named));
        // An unknown scheme results in an invalid token.
        let bare = |text: String| match text.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim().into(),
            _ => text,
        };
        self.token.take().or_else(header).map(bare)
    }
}

/// The client that opened a socket.
#[derive(Debug)]
struct SocketClient {
    credential: Credential,
    address: IpAddr,
    reason: Option<String>,
    /// The user when the socket was opened, and their grants.
    known: Option<(Uuid, Grants)>,
    /// The key under which the limits for each caller count the user.
    caller: Option<Uuid>,
    /// The client's slot among the sockets that one person may have.
    _place: Option<CountedItem<Uuid>>,
}

/// Serves one socket until its client disconnects, falls silent, or loses access. A client without
/// a cookie sends its token in `connection_init`.
///
/// Until the client is identified, it may send only little.
pub(super) async fn serve(
    socket: WebSocket,
    protocol: SocketProtocol,
    web: Web,
    asking: Requester,
    inbound: Inbound,
) {
    let (mut sink, stream) = socket.split();
    let (outgoing, mut waiting) = mpsc::channel(QUEUE);
    let opened = Arc::new(OnceLock::new());
    let heard = Arc::new(AtomicBool::new(true));

    let (hearing, messages) = (heard.clone(), inbound.clone());
    let mut is_broken = false;
    let mut stream = stream.map(|received| {
        hearing.store(true, Ordering::Relaxed);
        let message = received.and_then(|message| {
            messages.hear(message_bytes(&message)).map_err(axum::Error::new)?;
            Ok(message)
        });
        is_broken |= message.is_err();
        message
    });
    let gate = Gate {
        web: web.clone(),
        opened: opened.clone(),
        operations: Arc::new(Semaphore::new(OPERATIONS)),
    };
    let (opener, opening) = (web.clone(), opened.clone());
    let init = move |payload| async move {
        let known = identify(&opener, asking, &inbound, payload).await?;
        let _ = opening.set(known);
        Ok(())
    };
    let execute = |request| gate.execute(request);
    let served = transport::serve(protocol, &mut stream, &outgoing, init, execute);
    let written = async {
        while let Some(OutgoingMessage { message, place }) = waiting.recv().await {
            if sink.send(message).await.is_err() {
                return;
            }
            drop(place);
        }
    };
    let watched = async {
        let (code, reason) = watch(&web, &opened, &heard, &outgoing).await;
        closing(code, reason)
    };
    let frame = tokio::select! {
        frame = served => frame,
        () = written => None,
        frame = watched => Some(frame),
    };
    let Some(frame) = frame else {
        // The client has disconnected. Answer its close frame, because otherwise it would see a
        // broken connection.
        let _ = Clock::system().timeout(CLOSING, sink.close()).await;
        return;
    };
    let ended = async {
        while let Ok(sent) = waiting.try_recv() {
            sink.send(sent.message).await?;
        }
        sink.send(Message::Close(Some(frame))).await?;
        // A socket that is closed with unread data is reset, and the close frame may be lost.
        while stream.next().await.is_some_and(|message| message.is_ok()) {}
        Ok::<_, axum::Error>(())
    };
    // The result makes no difference, because the socket has ended.
    let _ = Clock::system().timeout(CLOSING, ended).await;
    if is_broken {
        // The rest is not read, so give the client time to read the frame.
        Clock::system().sleep(LINGER).await;
    }
}

/// The bytes that a client sent in a message.
fn message_bytes(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
        Message::Close(_) => 0,
    }
}

/// Identifies the client of a socket: by its `connection_init`, or by the upgrade request.
async fn identify(
    web: &Web,
    asking: Requester,
    inbound: &Inbound,
    payload: serde_json::Value,
) -> Result<SocketClient, RefusedSocket> {
    let init: Option<Init> = serde_json::from_value(payload)
        .map_err(|error| RefusedSocket::bad(format!("connection_init cannot be read: {error}")))?;
    let Requester { viewer, credential, address } = asking;
    let (token, reason) = init.map_or((None, None), |mut init| (init.bearer(), init.reason));
    let reason = match reason {
        Some(text) => {
            let kept = auth::reason_in(&text);
            Some(kept.ok_or_else(|| RefusedSocket::bad("the reason is too long"))?)
        }
        None => viewer.and_then(|viewer| viewer.reason),
    };
    let credential = token.map_or(credential, |token| Credential::Token(token.into()));
    let viewer = credential.viewer(web, address).await;
    let failed = |_| RefusedSocket::later("the server could not look the sender up");
    let viewer = viewer.map_err(failed)?;
    let of_person = |viewer: &Viewer| web.sockets.of_person(viewer.caller);
    let place = viewer.as_ref().map(of_person).transpose()?;
    let caller = viewer.as_ref().map(|viewer| viewer.caller);
    let known = viewer.map(|viewer| (viewer.id, viewer.grants));
    if known.is_some() {
        inbound.lift();
    }
    if known.is_none() && matches!(credential, Credential::Token(_)) {
        return Err(RefusedSocket::unauthorized("this token is unknown, expired or revoked"));
    }
    Ok(SocketClient { credential, address, reason, known, caller, _place: place })
}

/// Returns when the socket must be closed, and why.
async fn watch(
    web: &Web,
    opened: &OnceLock<SocketClient>,
    heard: &AtomicBool,
    outgoing: &mpsc::Sender<OutgoingMessage>,
) -> (u16, &'static str) {
    // The intervals run in real time, not on the application's clock.
    let clock = Clock::system();
    clock.sleep(INIT).await;
    let Some(opened) = opened.get() else {
        return (INIT_TIMEOUT, "Connection initialisation timeout");
    };
    // By now, the client has had time to receive the refusal.
    if opened.known.is_none() {
        return (UNAUTHORIZED, "Unauthorized");
    }
    let mut silent = 0;
    loop {
        if let Some((id, grants)) = &opened.known {
            match opened.viewer(web).await {
                Ok(None) => return (UNAUTHORIZED, "Unauthorized"),
                // The operations in progress were admitted for a user with other rights.
                Ok(Some(now)) if now.id != *id || now.grants != *grants => {
                    return (axum::extract::ws::close_code::RESTART, "The rights have changed");
                }
                Ok(Some(_)) | Err(_) => {}
            }
        }
        silent = if heard.swap(false, Ordering::Relaxed) { 0 } else { silent + 1 };
        if silent > SILENT_BEATS {
            return (axum::extract::ws::close_code::AWAY, "No sign of life");
        }
        // A full queue means that the client does not read, which counts as silence.
        let _ = outgoing.try_send(Message::Ping(Vec::new().into()).into());
        clock.sleep(BEAT).await;
    }
}

impl SocketClient {
    /// The current user. Fails if the database does not answer: then no user's rights are known.
    async fn viewer(&self, web: &Web) -> Result<Option<Viewer>, Refusal> {
        self.credential.viewer(web, self.address).await
    }
}

/// Admits an operation if its sender's current rights allow it.
#[derive(Clone)]
struct Gate {
    web: Web,
    opened: Arc<OnceLock<SocketClient>>,
    operations: Arc<Semaphore>,
}

impl Gate {
    /// Starts an operation of the socket.
    fn execute(&self, request: Request) -> Responses {
        let gate = self.clone();
        let answered = async move {
            let Ok(place) = gate.operations.clone().try_acquire_owned() else {
                let text = format!("this socket has {OPERATIONS} operations in progress; end some");
                let refusal = refusal("RATE_LIMITED", text);
                return stream::iter([(refusal, AnswerPlace::default())]).boxed();
            };
            let of_person = match gate.of_person() {
                Ok(of_person) => of_person,
                Err(text) => {
                    let refusal = refusal("RATE_LIMITED", text);
                    return stream::iter([(refusal, AnswerPlace::default())]).boxed();
                }
            };
            match gate.identified(request).await {
                Ok(request) => {
                    let events = api::execute_stream(&gate.web.schema, request);
                    // The slots are released when the operation has ended.
                    events.inspect(move |_| _ = (&place, &of_person)).boxed()
                }
                Err(refusal) => stream::iter([(refusal, AnswerPlace::default())]).boxed(),
            }
        };
        stream::once(answered).flatten().boxed()
    }
}

impl Gate {
    /// Counts one more operation of the socket's user; `None` for an unauthenticated client.
    fn of_person(&self) -> Result<Option<CountedItem<Uuid>>, String> {
        let caller = self.opened.get().and_then(|opened| opened.caller);
        caller.map(|caller| self.web.sockets.operation_of(caller)).transpose()
    }

    async fn identified(&self, request: Request) -> Result<Request, Response> {
        if self.web.draining.is_cancelled() {
            let text = "this server is being stopped; ask another one, or try again later";
            return Err(refusal("UNAVAILABLE", text.to_owned()));
        }
        let Some(opened) = self.opened.get() else { return Ok(request) };
        match opened.viewer(&self.web).await {
            Ok(Some(viewer)) => {
                let reason = opened.reason.clone().filter(|reason| !reason.is_empty());
                Ok(request.data(Viewer { reason, ..viewer }))
            }
            Ok(None) => Ok(request),
            Err(refused) => {
                Err(refusal(graphql_response::code(refused.status()), refused.into_text()))
            }
        }
    }
}

fn refusal(code: &str, text: String) -> Response {
    let mut error = ServerError::new(text, None);
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", code);
    error.extensions = Some(extensions);
    Response::from_errors(vec![error])
}
