//! The life of the connection: connect, speak, lose it, wait, connect again.

use futures::{FutureExt, SinkExt, StreamExt, channel::mpsc, channel::oneshot, select};
use gloo_net::websocket::{Message, futures::WebSocket};
use leptos::prelude::*;
use serde_json::{Value, json};

use super::{Link, Socket};

const PROTOCOL: &str = "graphql-transport-ws";

/// Keeps the socket connected for as long as that is wanted.
pub(super) async fn run(socket: &Socket) {
    let mut failures = 0_u32;
    let mut is_return = false;
    while socket.0.wanted.get() {
        if failures == 0 {
            socket.0.link.set(Link::Connecting);
        }
        let was_live = converse(socket, is_return).await;
        if !socket.0.wanted.get() {
            break;
        }
        socket.close(Link::Waiting);
        is_return |= was_live;
        failures = if was_live { 1 } else { failures.saturating_add(1) };
        pause(backoff(failures, js_sys::Math::random())).await;
    }
    socket.0.running.set(false);
}

/// One connection from handshake to end. Answers whether it ever was acknowledged.
async fn converse(socket: &Socket, is_return: bool) -> bool {
    let Some(url) = address() else { return false };
    let Ok(stream) = WebSocket::open_with_protocol(&url, PROTOCOL) else { return false };
    let (mut sink, stream) = stream.split();
    let mut stream = stream.fuse();
    if sink.send(text(&json!({ "type": "connection_init" }))).await.is_err() {
        return false;
    }
    let (sender, mut outbox) = mpsc::unbounded::<Value>();
    let mut sender = Some(sender);
    loop {
        select! {
            message = stream.next() => {
                let Some(Ok(Message::Text(message))) = message else { return sender.is_none() };
                let Ok(message) = serde_json::from_str::<Value>(&message) else { continue };
                match message["type"].as_str() {
                    Some("connection_ack") => {
                        if let Some(sender) = sender.take() {
                            socket.open(sender, is_return);
                        }
                    }
                    Some("ping") => {
                        if sink.send(text(&json!({ "type": "pong" }))).await.is_err() {
                            return sender.is_none();
                        }
                    }
                    _ => dispatch(socket, message),
                }
            }
            message = outbox.next() => {
                let Some(message) = message else { return true };
                if sink.send(text(&message)).await.is_err() {
                    return true;
                }
            }
        }
    }
}

/// Hands a message of a subscription to it.
fn dispatch(socket: &Socket, mut message: Value) {
    let id = message["id"].as_str().and_then(|id| id.parse().ok());
    let Some(id) = id else { return };
    match message["type"].as_str() {
        Some("next") => {
            let data = message["payload"]["data"].take();
            // An event without data is an error of its resolver.
            if data.is_null() { socket.refused(id) } else { socket.event(id, data) }
        }
        Some("error") => socket.refused(id),
        Some("complete") => socket.completed(id),
        _ => {}
    }
}

fn address() -> Option<String> {
    let location = window().location();
    let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
    Some(format!("{scheme}://{}/graphql/ws", location.host().ok()?))
}

fn text(message: &Value) -> Message {
    Message::Text(message.to_string())
}

/// Half a second, doubling to 15 s, of which half is left to chance so that many consoles do not return as one.
fn backoff(failures: u32, random: f64) -> f64 {
    let ceiling = f64::from(500 << failures.saturating_sub(1).min(5)).min(15_000.0);
    ceiling * (0.5 + random / 2.0)
}

async fn pause(millis: f64) {
    let (sender, receiver) = oneshot::channel::<()>();
    set_timeout(
        move || {
            let _gone = sender.send(());
        },
        std::time::Duration::from_millis(millis as u64),
    );
    receiver.map(drop).await;
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn waiting_doubles_up_to_fifteen_seconds() {
        let longest: Vec<f64> = [1, 2, 3, 6, 40].iter().map(|n| backoff(*n, 1.0)).collect();
        assert_eq!(longest, [500.0, 1_000.0, 2_000.0, 15_000.0, 15_000.0]);
        assert_eq!(backoff(1, 0.0), 250.0);
    }
}
