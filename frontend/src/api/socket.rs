//! One WebSocket for all subscriptions, using the graphql-transport-ws protocol.
//!
//! The socket is open while a user is signed in, and reconnects on its own. Each subscription remembers the cursor of
//! its last event and is sent again with `since`, so a dropped socket neither loses nor repeats an event. Without a
//! cursor, the server starts with the events after it receives the subscription. Changes between the page's query and
//! that moment are then in neither. So the subscriber is notified of a gap, and reloads, once the server has answered
//! the ping that was sent after the subscription.
//!
//! - `line`: one connection, from handshake to end
//! - `book`: the subscriptions, and the cursor from which each continues

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

/// How often the connection is checked.
const LOOK: Duration = Duration::from_secs(1);
/// A ping is sent after this much silence.
const QUIET_MS: i64 = 4_000;
/// How long the answer to a ping, or to the handshake, may take. A socket whose peer is frozen or
/// gone still looks open for minutes.
const PATIENCE_MS: i64 = 6_000;

/// The state of the connection, for the mark in the corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// The user is not signed in.
    Idle,
    Connecting,
    Live,
    /// The connection is lost, and reconnects on its own.
    Waiting,
}

struct Inner {
    book: RefCell<Book>,
    line: RefCell<Option<Line>>,
    link: RwSignal<Link>,
    /// Whether the socket should be connected.
    wanted: Cell<bool>,
    failures: Cell<u32>,
    retry: RefCell<Option<TimeoutHandle>>,
    heard_at: Cell<Moment>,
    asked_at: Cell<Moment>,
}

/// A handle to the socket; all clones share it.
#[derive(Clone)]
pub(crate) struct Socket(Rc<Inner>);

impl Socket {
    /// Creates the socket, which listens to events of the window from then on. Called once.
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
        // After sleep or a dead network, reconnect at once instead of waiting for a timer.
        let waking = socket.clone();
        window_event_listener_untyped("online", move |_| waking.wake());
        let waking = socket.clone();
        window_event_listener_untyped("visibilitychange", move |_| waking.wake());
        socket
    }

    /// Connects, and reconnects whenever the connection is lost.
    pub(crate) fn connect(&self) {
        self.0.wanted.set(true);
        self.0.failures.set(0);
        self.open();
    }

    /// Ends the connection, because the next user to sign in has another session.
    pub(crate) fn disconnect(&self) {
        self.0.wanted.set(false);
        self.close(Link::Idle);
    }

    pub(crate) fn link(&self) -> Signal<Link> {
        self.0.link.into()
    }

    /// Subscribes; the returned id is used to unsubscribe.
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

    /// Handles a lost or failed connection: tries to connect again after a delay.
    fn lost(&self) {
        self.close(Link::Waiting);
        let failures = self.0.failures.get().saturating_add(1);
        self.0.failures.set(failures);
        let socket = self.clone();
        let retry = set_timeout_with_handle(move || socket.open(), wait(failures));
        *self.0.retry.borrow_mut() = retry.ok();
    }

    /// Checks the connection at once, because the window is active again.
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
        let (heard_at, asked_at) = (self.0.heard_at.get(), self.0.asked_at.get());
        match check(Moment::now(), heard_at, asked_at, self.is_live()) {
            Check::Fine => {}
            Check::Ping => self.ping(None),
            Check::Lost => self.lost(),
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

    /// Sends a ping. When its pong arrives, a subscription that was sent before it is active.
    fn ping(&self, opens: Option<u64>) {
        self.0.asked_at.set(Moment::now());
        self.0.book.borrow_mut().ping(opens);
        self.send(&json!({ "type": "ping" }));
    }

    /// Sends a subscription if there is a connection; otherwise it is sent with the next one.
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
                // An event without data is an error of the event's resolver.
                if data.is_null() { self.refused(wire) } else { self.event(wire, data) }
            }
            (Some("error"), Some(wire)) => self.refused(wire),
            (Some("complete"), Some(wire)) => {
                let ended = self.0.book.borrow().ending(wire);
                let again = self.0.book.borrow_mut().completed(wire);
                if let Some(listen) = ended {
                    listen(Notice::End);
                }
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

    // A subscriber may subscribe or unsubscribe while it handles the event, so the book is not borrowed meanwhile.

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

    /// Handles a subscription that the server refuses to continue, most likely because it no longer knows the cursor.
    /// Without a cursor, the subscription starts from now.
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

/// The state of a connection, as a check finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Fine,
    Ping,
    Lost,
}

/// Judges the connection by the times of the last message and of the last ping. Silence counts only after a ping: a
/// browser suspends the timers of a hidden page for up to a minute.
fn check(now: Moment, heard_at: Moment, asked_at: Moment, is_live: bool) -> Check {
    if !is_live {
        // Opening the connection counts as a ping, because the server must answer the handshake.
        return if now.since(heard_at) > PATIENCE_MS { Check::Lost } else { Check::Fine };
    }
    let is_unanswered = asked_at > heard_at;
    match is_unanswered {
        true if now.since(asked_at) > PATIENCE_MS => Check::Lost,
        false if now.since(heard_at) > QUIET_MS => Check::Ping,
        true | false => Check::Fine,
    }
}

/// The delay after this many failures in a row: half a second, doubling up to 15 s, half of it random so that many
/// consoles do not reconnect at the same moment.
fn wait(failures: u32) -> Duration {
    backoff(failures, (js_sys::Math::random() * 1_000.0) as u64)
}

fn backoff(failures: u32, chance_in_1000: u64) -> Duration {
    let ceiling = (500 << failures.saturating_sub(1).min(5)).min(15_000);
    Duration::from_millis(ceiling / 2 + ceiling * chance_in_1000 / 2_000)
}

#[cfg(test)]
mod tests {
    use super::{Check, backoff, check};
    use crate::time::Moment;

    #[test]
    fn a_server_that_does_not_answer_a_ping_is_lost() {
        let at = Moment::from_millis;
        let (start, live) = (at(1_000_000), true);
        let after = |ms: i64| at(1_000_000 + ms);
        // The last message is later than the last ping.
        assert_eq!(check(after(4_000), start, at(999_000), live), Check::Fine);
        assert_eq!(check(after(4_001), start, at(999_000), live), Check::Ping);
        // The timers of a hidden page run once a minute.
        assert_eq!(check(after(60_000), start, at(999_000), live), Check::Ping);
        let asked = after(4_001);
        assert_eq!(check(after(10_001), start, asked, live), Check::Fine);
        assert_eq!(check(after(10_002), start, asked, live), Check::Lost);
        assert_eq!(check(after(10_002), after(5_000), asked, live), Check::Ping);
    }

    #[test]
    fn a_handshake_without_an_answer_is_lost() {
        let at = Moment::from_millis;
        assert_eq!(check(at(6_000), at(0), at(0), false), Check::Fine);
        assert_eq!(check(at(6_001), at(0), at(0), false), Check::Lost);
    }

    #[test]
    fn waiting_doubles_up_to_fifteen_seconds() {
        let longest = [1, 2, 3, 6, 40].map(|failures| backoff(failures, 1_000).as_millis());
        assert_eq!(longest, [500, 1_000, 2_000, 15_000, 15_000]);
        assert_eq!(backoff(1, 0).as_millis(), 250);
    }
}
