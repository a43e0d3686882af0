//! One WebSocket for all subscriptions, by the graphql-transport-ws protocol.
//!
//! It is open while somebody is signed in and comes back by itself: each subscription remembers the cursor of its last
//! event and is sent again with `since`, so a dropped socket loses nothing and repeats nothing. Without a cursor the server
//! begins at the moment that it hears of the subscription, and what happened since the page's query is in neither; so the
//! subscriber is told of a gap as soon as the server has answered what was sent behind the subscription, and loads afresh.
//!
//! - `line`: one connection, from handshake to end
//! - `book`: who is subscribed to what, and from where on

mod book;
mod line;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use leptos::{
    leptos_dom::helpers::{TimeoutHandle, window_event_listener_untyped},
    prelude::*,
};
use serde_json::{Value, json};

pub(crate) use self::book::{Notice, Subscriber};
use self::{book::Book, line::Line};
use crate::time::Moment;

/// How often the connection is checked, and after how much silence it is pinged or given up. A
/// socket whose peer has vanished still looks open for minutes.
const LOOK: Duration = Duration::from_secs(5);
const QUIET_MS: i64 = 15_000;
const DEAD_MS: i64 = 30_000;

/// How the connection stands, for the mark in the corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nobody is signed in.
    Idle,
    Connecting,
    Live,
    /// Lost; it tries again by itself.
    Waiting,
}

struct Inner {
    book: RefCell<Book>,
    line: RefCell<Option<Line>>,
    link: RwSignal<Link>,
    /// Whether it should be connected.
    wanted: Cell<bool>,
    failures: Cell<u32>,
    retry: RefCell<Option<TimeoutHandle>>,
    heard_at: Cell<Moment>,
    asked_at: Cell<Moment>,
}

/// A handle; all clones are the same socket.
#[derive(Clone)]
pub(crate) struct Socket(Rc<Inner>);

impl Socket {
    /// Called once: it listens to the window from then on.
    pub(crate) fn new() -> Self {
        let now = Moment::now();
        let socket = Self(Rc::new(Inner {
            book: RefCell::default(),
            line: RefCell::default(),
            link: RwSignal::new(Link::Idle),
            wanted: Cell::new(false),
            failures: Cell::new(0),
            retry: RefCell::default(),
            heard_at: Cell::new(now),
            asked_at: Cell::new(now),
        }));
        let looking = socket.clone();
        set_interval(move || looking.look(), LOOK);
        // Back from sleep or from a dead network nobody waits for a timer.
        let waking = socket.clone();
        window_event_listener_untyped("online", move |_| waking.wake());
        let waking = socket.clone();
        window_event_listener_untyped("visibilitychange", move |_| waking.wake());
        socket
    }

    /// Connects, and keeps it so.
    pub(crate) fn connect(&self) {
        self.0.wanted.set(true);
        self.0.failures.set(0);
        self.open();
    }

    /// Ends the connection: whoever signs in next has a session of their own.
    pub(crate) fn disconnect(&self) {
        self.0.wanted.set(false);
        self.close(Link::Idle);
    }

    pub(crate) fn link(&self) -> Signal<Link> {
        self.0.link.into()
    }

    /// Subscribes; the id serves to leave again.
    pub(crate) fn join(&self, subscriber: Subscriber) -> u64 {
        let id = self.0.book.borrow_mut().join(subscriber);
        self.subscribe(id);
        id
    }

    pub(crate) fn leave(&self, id: u64) {
        let wire = self.0.book.borrow_mut().leave(id);
        if let Some(wire) = wire {
            self.send(&json!({ "id": wire.to_string(), "type": "complete" }));
        }
    }

    fn open(&self) {
        if !self.0.wanted.get() || self.0.line.borrow().is_some() {
            return;
        }
        if self.0.failures.get() == 0 {
            self.0.link.set(Link::Connecting);
        }
        self.0.heard_at.set(Moment::now());
        let line = Line::open(self);
        match line {
            Some(line) => *self.0.line.borrow_mut() = Some(line),
            None => self.lost(),
        }
    }

    fn close(&self, link: Link) {
        self.0.line.borrow_mut().take();
        self.0.book.borrow_mut().forget_pings();
        if let Some(retry) = self.0.retry.borrow_mut().take() {
            retry.clear();
        }
        self.0.link.set(link);
    }

    /// The line is gone, or not to be had: another one, after a while.
    fn lost(&self) {
        self.close(Link::Waiting);
        let failures = self.0.failures.get().saturating_add(1);
        self.0.failures.set(failures);
        let socket = self.clone();
        let retry = set_timeout_with_handle(move || socket.open(), wait(failures));
        *self.0.retry.borrow_mut() = retry.ok();
    }

    /// The window is back: no more waiting.
    fn wake(&self) {
        self.look();
        if self.0.wanted.get() {
            self.open();
        }
    }

    fn look(&self) {
        if self.0.line.borrow().is_none() {
            return;
        }
        let now = Moment::now();
        if now.since(self.0.heard_at.get()) > DEAD_MS {
            self.lost();
        } else if self.is_live() && now.since(self.0.asked_at.get()) > QUIET_MS {
            self.ping(None);
        }
    }

    fn is_live(&self) -> bool {
        self.0.link.get_untracked() == Link::Live
    }

    fn send(&self, message: &Value) {
        if let Some(line) = self.0.line.borrow().as_ref() {
            line.send(message);
        }
    }

    /// Asks for a sign of life. A subscription that was sent before is open when the answer is here.
    fn ping(&self, opens: Option<u64>) {
        self.0.asked_at.set(Moment::now());
        self.0.book.borrow_mut().ping(opens);
        self.send(&json!({ "type": "ping" }));
    }

    /// Sends a subscription, if there is a line; else it is sent with the next one.
    fn subscribe(&self, id: u64) {
        if !self.is_live() {
            return;
        }
        let Some((message, is_blind)) = self.0.book.borrow_mut().subscribe(id) else { return };
        self.send(&message);
        if is_blind {
            self.ping(Some(id));
        }
    }

    fn hear(&self, mut message: Value) {
        self.0.heard_at.set(Moment::now());
        let wire = message["id"].as_str().and_then(|id| id.parse().ok());
        match (message["type"].as_str(), wire) {
            (Some("connection_ack"), _) => self.acknowledged(),
            (Some("ping"), _) => self.send(&json!({ "type": "pong" })),
            (Some("pong"), _) => {
                let opened = self.0.book.borrow_mut().pong();
                self.tell_of_gap(opened);
            }
            (Some("next"), Some(wire)) => {
                let data = message["payload"]["data"].take();
                // An event without data is an error of its resolver.
                if data.is_null() { self.refused(wire) } else { self.event(wire, data) }
            }
            (Some("error"), Some(wire)) => self.refused(wire),
            (Some("complete"), Some(wire)) => {
                let again = self.0.book.borrow_mut().completed(wire);
                self.subscribe_later(again);
            }
            _ => {}
        }
    }

    fn acknowledged(&self) {
        self.0.failures.set(0);
        self.0.link.set(Link::Live);
        let ids = self.0.book.borrow().ids();
        for id in ids {
            self.subscribe(id);
        }
    }

    // A subscriber may subscribe or leave while it listens, so the book is not borrowed meanwhile.

    fn event(&self, wire: u64, data: Value) {
        let found = self.0.book.borrow().listener(wire);
        let Some((id, listen)) = found else { return };
        if let Some(cursor) = listen(Notice::Event(data)) {
            self.0.book.borrow_mut().seen(id, cursor);
        }
    }

    fn tell_of_gap(&self, id: Option<u64>) {
        let listen = id.and_then(|id| self.0.book.borrow().listener_of(id));
        if let Some(listen) = listen {
            listen(Notice::Gap);
        }
    }

    /// The server does not go on: most likely it no longer knows the cursor. Without one it begins from now.
    fn refused(&self, wire: u64) {
        let again = self.0.book.borrow_mut().refused(wire);
        self.tell_of_gap(again.map(|(id, _)| id));
        self.subscribe_later(again);
    }

    fn subscribe_later(&self, again: Option<(u64, u32)>) {
        let Some((id, tries)) = again else { return };
        let socket = self.clone();
        set_timeout(move || socket.subscribe(id), wait(tries));
    }
}

/// How long to wait after so many failures: half a second, doubling to 15 s, of which half is left to chance so that many
/// consoles do not return as one.
fn wait(failures: u32) -> Duration {
    backoff(failures, (js_sys::Math::random() * 1_000.0) as u64)
}

fn backoff(failures: u32, chance_in_1000: u64) -> Duration {
    let ceiling = (500 << failures.saturating_sub(1).min(5)).min(15_000);
    Duration::from_millis(ceiling / 2 + ceiling * chance_in_1000 / 2_000)
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn waiting_doubles_up_to_fifteen_seconds() {
        let longest = [1, 2, 3, 6, 40].map(|failures| backoff(failures, 1_000).as_millis());
        assert_eq!(longest, [500, 1_000, 2_000, 15_000, 15_000]);
        assert_eq!(backoff(1, 0).as_millis(), 250);
    }
}
