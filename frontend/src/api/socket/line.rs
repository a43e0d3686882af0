//! One connection, from handshake to end. It only sends and receives; the socket interprets the messages.

use leptos::prelude::window;
use serde_json::{Value, json};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{MessageEvent, WebSocket};

use super::Socket;

const PROTOCOL: &str = "graphql-transport-ws";

/// A connection. It closes when this value is dropped; no message is delivered after that.
pub(super) struct Line {
    socket: WebSocket,
    _opened: Closure<dyn Fn()>,
    _heard: Closure<dyn Fn(MessageEvent)>,
    _closed: Closure<dyn Fn()>,
}

impl Line {
    pub(super) fn open(owner: &Socket) -> Option<Self> {
        let socket = WebSocket::new_with_str(&address()?, PROTOCOL).ok()?;
        let speaker = socket.clone();
        let opened = Closure::<dyn Fn()>::new(move || {
            say(&speaker, &json!({ "type": "connection_init" }));
        });
        let hearing = owner.clone();
        let heard = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            let text = event.data().as_string().unwrap_or_default();
            if let Ok(message) = serde_json::from_str(&text) {
                hearing.hear(message);
            }
        });
        let losing = owner.clone();
        let closed = Closure::<dyn Fn()>::new(move || losing.lost());
        socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
        Some(Self { socket, _opened: opened, _heard: heard, _closed: closed })
    }

    /// Sends a message. Failures are ignored: an important message is sent again on the next connection.
    pub(super) fn send(&self, message: &Value) {
        say(&self.socket, message);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.socket.set_onopen(None);
        self.socket.set_onmessage(None);
        self.socket.set_onclose(None);
        let _closed_already = self.socket.close();
    }
}

fn say(socket: &WebSocket, message: &Value) {
    let _closing = socket.send_with_str(&message.to_string());
}

fn address() -> Option<String> {
    let location = window().location();
    let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
    Some(format!("{scheme}://{}/graphql/ws", location.host().ok()?))
}
