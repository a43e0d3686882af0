//! The subscriptions, and the cursor from which each continues (pure).
//!
//! A subscriber keeps its id. Its id on the wire is new for each subscription, because the server may still send
//! messages about the previous one.

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use serde_json::{Value, json};

/// A message to a subscriber.
pub(crate) enum Notice {
    /// The data of an event. The listener returns the event's cursor.
    Event(Value),
    /// Events may have been missed, so the listener must reload.
    Gap,
    /// The server has completed the feed.
    End,
}

type Listen = Rc<dyn Fn(Notice) -> Option<String>>;

/// A subscription and its listener.
pub(crate) struct Subscriber {
    pub(crate) payload: Value,
    /// Whether the server completes the feed. Any other feed is subscribed to again when it ends.
    pub(crate) ends: bool,
    pub(crate) listen: Listen,
}

struct Entry {
    subscriber: Subscriber,
    wire: u64,
    since: Option<String>,
    /// How often the server has refused the subscription since its last event.
    tries: u32,
}

/// All subscriptions.
#[derive(Default)]
pub(super) struct Book {
    entries: BTreeMap<u64, Entry>,
    last_id: u64,
    /// The pings in flight, each with the subscription that was sent just before it.
    pings: VecDeque<Option<u64>>,
}

impl Book {
    pub(super) fn join(&mut self, subscriber: Subscriber) -> u64 {
        self.last_id += 1;
        self.entries.insert(self.last_id, Entry { subscriber, wire: 0, since: None, tries: 0 });
        self.last_id
    }

    /// Removes a subscriber; returns its id on the wire.
    pub(super) fn leave(&mut self, id: u64) -> Option<u64> {
        self.entries.remove(&id).map(|entry| entry.wire)
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.entries.keys().copied().collect()
    }

    /// The message that subscribes, and whether it lacks a cursor to continue from.
    pub(super) fn subscribe(&mut self, id: u64) -> Option<(Value, bool)> {
        let entry = self.entries.get_mut(&id)?;
        self.last_id += 1;
        entry.wire = self.last_id;
        let mut payload = entry.subscriber.payload.clone();
        payload["variables"]["since"] = json!(entry.since);
        let message =
            json!({ "id": entry.wire.to_string(), "type": "subscribe", "payload": payload });
        Some((message, entry.since.is_none() && !entry.subscriber.ends))
    }

    pub(super) fn ping(&mut self, opens: Option<u64>) {
        self.pings.push_back(opens);
    }

    /// Handles a pong; pongs arrive in the order of the pings. Returns the subscription that is now known to be
    /// active.
    pub(super) fn pong(&mut self) -> Option<u64> {
        self.pings.pop_front().flatten()
    }

    pub(super) fn forget_pings(&mut self) {
        self.pings.clear();
    }

    pub(super) fn listener(&self, wire: u64) -> Option<(u64, Listen)> {
        let (id, entry) = self.entries.iter().find(|(_, entry)| entry.wire == wire)?;
        Some((*id, entry.subscriber.listen.clone()))
    }

    pub(super) fn listener_of(&self, id: u64) -> Option<Listen> {
        self.entries.get(&id).map(|entry| entry.subscriber.listen.clone())
    }

    /// The listener of a feed, if this message completes the feed.
    pub(super) fn ending(&self, wire: u64) -> Option<Listen> {
        let entry = self.entries.values().find(|entry| entry.wire == wire)?;
        entry.subscriber.ends.then(|| entry.subscriber.listen.clone())
    }

    /// Stores the cursor of an event, after which the next subscription continues.
    pub(super) fn seen(&mut self, id: u64, cursor: String) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.since = Some(cursor);
            entry.tries = 0;
        }
    }

    /// Handles a refused subscription. Returns the subscriber to subscribe again, and the number of earlier tries.
    pub(super) fn refused(&mut self, wire: u64) -> Option<(u64, u32)> {
        let (id, entry) = self.entries.iter_mut().find(|(_, entry)| entry.wire == wire)?;
        entry.since = None;
        entry.wire = 0;
        entry.tries += 1;
        Some((*id, entry.tries))
    }

    /// Handles the end of a feed that should not have ended, in the same way.
    pub(super) fn completed(&mut self, wire: u64) -> Option<(u64, u32)> {
        let (id, entry) = self.entries.iter_mut().find(|(_, entry)| entry.wire == wire)?;
        let id = *id;
        if entry.subscriber.ends {
            self.entries.remove(&id);
            return None;
        }
        entry.wire = 0;
        entry.tries += 1;
        Some((id, entry.tries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriber(ends: bool) -> Subscriber {
        Subscriber { payload: json!({ "query": "x" }), ends, listen: Rc::new(|_| None) }
    }

    fn wire(message: &Value) -> u64 {
        message["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default()
    }

    #[test]
    fn a_subscription_continues_after_its_last_event() {
        let mut book = Book::default();
        let id = book.join(subscriber(false));
        let (first, is_blind) = book.subscribe(id).unwrap();
        assert!(is_blind);
        assert_eq!(book.listener(wire(&first)).map(|(id, _)| id), Some(id));
        book.seen(id, "c7".to_owned());
        let (second, is_blind) = book.subscribe(id).unwrap();
        assert!(!is_blind);
        assert_eq!(second["payload"]["variables"]["since"], "c7");
    }

    #[test]
    fn a_refused_subscription_begins_anew_under_another_id_and_outlives_its_old_end() {
        let mut book = Book::default();
        let id = book.join(subscriber(false));
        let (first, _) = book.subscribe(id).unwrap();
        book.seen(id, "unknown".to_owned());
        assert_eq!(book.refused(wire(&first)), Some((id, 1)));
        let (second, is_blind) = book.subscribe(id).unwrap();
        assert!(is_blind);
        assert_ne!(wire(&first), wire(&second));
        // The server also sends a `complete` for the first subscription.
        assert_eq!(book.completed(wire(&first)), None);
        assert!(book.listener(wire(&second)).is_some());
    }

    #[test]
    fn only_a_feed_that_ends_is_over_when_it_is_complete() {
        let mut book = Book::default();
        let (runs, log) = (book.join(subscriber(false)), book.join(subscriber(true)));
        let (of_runs, _) = book.subscribe(runs).unwrap();
        let (of_log, _) = book.subscribe(log).unwrap();
        assert!(book.ending(wire(&of_runs)).is_none());
        assert!(book.ending(wire(&of_log)).is_some());
        assert_eq!(book.completed(wire(&of_runs)), Some((runs, 1)));
        assert_eq!(book.completed(wire(&of_log)), None);
        assert_eq!(book.ids(), [runs]);
    }

    #[test]
    fn a_subscription_is_open_when_the_ping_behind_it_is_answered() {
        let mut book = Book::default();
        book.ping(None);
        book.ping(Some(4));
        assert_eq!((book.pong(), book.pong(), book.pong()), (None, Some(4), None));
    }
}
