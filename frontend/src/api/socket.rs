//! One WebSocket for all subscriptions, by the graphql-transport-ws protocol.
//!
//! It is open while somebody is signed in and comes back by itself: each subscription remembers the cursor of its last
//! event and is sent again with `since`, so a dropped socket loses nothing and repeats nothing. Where there is no cursor
//! yet, or the server no longer knows it, the subscriber is told of a gap and loads afresh.

mod session;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use futures::channel::mpsc::UnboundedSender;
use leptos::{prelude::*, task::spawn_local};
use serde_json::{Value, json};

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

/// What a subscriber hears.
pub(super) enum Notice {
    /// An event's data. The answer is its cursor.
    Event(Value),
    /// Events may have been lost: load afresh.
    Gap,
}

/// Makes the payload to subscribe with, from the cursor to go on from.
type Payload = Box<dyn Fn(Option<String>) -> Value>;
/// Takes a notice; answers the cursor of an event.
type Deliver = Rc<dyn Fn(Notice) -> Option<String>>;

struct Subscription {
    payload: Payload,
    deliver: Deliver,
    since: Option<String>,
}

struct Inner {
    subscriptions: RefCell<BTreeMap<u64, Subscription>>,
    /// Open while the server has acknowledged the connection.
    outbox: RefCell<Option<UnboundedSender<Value>>>,
    link: RwSignal<Link>,
    next_id: Cell<u64>,
    /// Whether it should be connected.
    wanted: Cell<bool>,
    /// Whether the task that keeps it connected runs.
    running: Cell<bool>,
}

/// A handle; all clones are the same socket.
#[derive(Clone)]
pub(crate) struct Socket(Rc<Inner>);

impl Socket {
    pub(crate) fn new() -> Self {
        Self(Rc::new(Inner {
            subscriptions: RefCell::default(),
            outbox: RefCell::default(),
            link: RwSignal::new(Link::Idle),
            next_id: Cell::new(1),
            wanted: Cell::new(false),
            running: Cell::new(false),
        }))
    }

    /// Connects, and keeps it so.
    pub(crate) fn connect(&self) {
        self.0.wanted.set(true);
        if !self.0.running.replace(true) {
            let socket = self.clone();
            spawn_local(async move { session::run(&socket).await });
        }
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
    pub(super) fn join(&self, payload: Payload, deliver: Deliver) -> u64 {
        let id = self.0.next_id.replace(self.0.next_id.get() + 1);
        let message = subscribe(id, payload(None));
        let subscription = Subscription { payload, deliver, since: None };
        self.0.subscriptions.borrow_mut().insert(id, subscription);
        self.send(message);
        id
    }

    pub(super) fn leave(&self, id: u64) {
        if self.0.subscriptions.borrow_mut().remove(&id).is_some() {
            self.send(json!({ "id": id.to_string(), "type": "complete" }));
        }
    }

    /// Sends if connected; what matters is sent again on the next connection anyway.
    fn send(&self, message: Value) {
        if let Some(outbox) = self.0.outbox.borrow().as_ref() {
            let _closing = outbox.unbounded_send(message);
        }
    }

    /// The connection is acknowledged: everything that is subscribed to is sent, from its last cursor on.
    fn open(&self, outbox: UnboundedSender<Value>, is_return: bool) {
        if !self.0.wanted.get() {
            // Dropping the outbox ends the connection.
            return;
        }
        *self.0.outbox.borrow_mut() = Some(outbox);
        self.0.link.set(Link::Live);
        let mut blind = Vec::new();
        for (id, subscription) in self.0.subscriptions.borrow().iter() {
            self.send(subscribe(*id, (subscription.payload)(subscription.since.clone())));
            if is_return && subscription.since.is_none() {
                blind.push(subscription.deliver.clone());
            }
        }
        for deliver in blind {
            deliver(Notice::Gap);
        }
    }

    fn close(&self, link: Link) {
        self.0.outbox.borrow_mut().take();
        self.0.link.set(link);
    }

    fn event(&self, id: u64, data: Value) {
        // The subscriber may subscribe or leave while it listens, so the table is not borrowed meanwhile.
        let deliver = self.0.subscriptions.borrow().get(&id).map(|s| s.deliver.clone());
        let Some(cursor) = deliver.and_then(|deliver| deliver(Notice::Event(data))) else { return };
        if let Some(subscription) = self.0.subscriptions.borrow_mut().get_mut(&id) {
            subscription.since = Some(cursor);
        }
    }

    /// The server refused to go on: most likely it no longer knows the cursor. Without one it begins from now, and the
    /// subscriber loads afresh. Refused without a cursor, the subscription is over.
    fn refused(&self, id: u64) {
        let mut subscriptions = self.0.subscriptions.borrow_mut();
        let Some(subscription) = subscriptions.get_mut(&id) else { return };
        if subscription.since.take().is_none() {
            subscriptions.remove(&id);
            return;
        }
        let message = subscribe(id, (subscription.payload)(None));
        let deliver = subscription.deliver.clone();
        drop(subscriptions);
        self.send(message);
        deliver(Notice::Gap);
    }

    fn completed(&self, id: u64) {
        self.0.subscriptions.borrow_mut().remove(&id);
    }
}

fn subscribe(id: u64, payload: Value) -> Value {
    json!({ "id": id.to_string(), "type": "subscribe", "payload": payload })
}
