//! A subscription as a page sees it: events in batches, at most four a second, until the page is left.
//!
//! A burst of runs changes a list faster than anyone can read. An event after a pause is delivered at once. Further
//! events are delivered together on the next beat, so the page draws once for all of them. Nothing moves while the
//! pointer is pressed or lists are held: events wait until then.

use std::{cell::RefCell, rc::Rc, time::Duration};

use leptos::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::use_socket;
use crate::{
    api::{Feed, Notice, Request, Subscriber, pluck, read},
    state::{BEAT, Beat, Hold, Press, use_hold, use_press},
};

/// Subscribes until the owner is disposed, and again whenever a signal that `feed` reads has changed, such as the
/// namespace of the address. `on_gap` is called when events may have been missed: once the subscription is active,
/// and whenever the server could not continue from the last event.
pub(crate) fn use_feed<T: DeserializeOwned + 'static>(
    feed: impl Fn() -> Feed<T> + 'static,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    subscribe(feed, listeners(on_batch, on_gap, || {}));
}

/// The same for the frame around the pages: the events do not count among the changes that wait while lists are held,
/// because a page may count them as well.
pub(crate) fn use_frame_feed<T: DeserializeOwned + 'static>(
    feed: impl Fn() -> Feed<T> + 'static,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    subscribe(feed, Listeners { counts: false, ..listeners(on_batch, on_gap, || {}) });
}

/// Subscribes to a feed that the server completes. `on_end` is called once the server has sent everything.
pub(crate) fn use_ending_feed<T: DeserializeOwned + 'static>(
    feed: impl Fn() -> Feed<T> + 'static,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
    on_end: impl Fn() + 'static,
) {
    subscribe(feed, listeners(on_batch, on_gap, on_end));
}

fn listeners<T: DeserializeOwned + 'static>(
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
    on_end: impl Fn() + 'static,
) -> Listeners {
    let on_batch: Rc<dyn Fn(Vec<Value>)> = Rc::new(move |events: Vec<Value>| {
        on_batch(events.into_iter().filter_map(|event| read(event).ok()).collect());
    });
    Listeners { on_batch, on_gap: Rc::new(on_gap), on_end: Rc::new(on_end), counts: true }
}

fn subscribe<T: 'static>(feed: impl Fn() -> Feed<T> + 'static, listeners: Listeners) {
    // Each run of the effect has its own feed, whose subscription ends with the run.
    Effect::new(move |_| {
        let Feed { events, ends } = feed();
        follow(events.request, ends, listeners.clone());
    });
}

/// The callbacks of a feed.
#[derive(Clone)]
struct Listeners {
    on_batch: Rc<dyn Fn(Vec<Value>)>,
    on_gap: Rc<dyn Fn()>,
    on_end: Rc<dyn Fn()>,
    /// Whether the events count among the changes that wait while lists are held.
    counts: bool,
}

fn follow(request: Request, ends: bool, listeners: Listeners) {
    let Listeners { on_batch, on_gap, on_end, counts } = listeners;
    let waiting = Rc::new(RefCell::new(Undelivered::default()));
    let beat = Beat::new();
    // This value lives as long as the page, so a timer that fires later finds it disposed.
    let here = StoredValue::new(());
    let (press, hold) = (use_press(), use_hold());
    let at = request.at;
    let unless_left = move |work: Rc<dyn Fn()>| {
        move || {
            if !here.is_disposed() {
                work();
            }
        }
    };
    let (delivered, on_restart) = (waiting.clone(), on_gap.clone());
    let deliver: Rc<dyn Fn()> = Rc::new(move || {
        let Undelivered { events, begins_again } = delivered.take();
        if begins_again {
            on_restart();
        }
        if !events.is_empty() {
            on_batch(events);
        }
    });
    let listen = Rc::new(move |notice| match notice {
        Notice::Event(mut data) => {
            let event = pluck(&mut data, at)?;
            let cursor = event["cursor"].as_str().map(str::to_owned);
            let is_first = waiting.borrow_mut().push(event);
            if counts {
                hold.count();
            }
            if is_first {
                let deliver = unless_left(deliver.clone());
                // Not within the socket's own work.
                let on_beat = move || beat.run(move || when_free(press, hold, deliver));
                set_timeout(on_beat, Duration::ZERO);
            }
            cursor
        }
        Notice::Gap if ends => {
            waiting.borrow_mut().begin_again();
            when_free(press, hold, unless_left(deliver.clone()));
            None
        }
        Notice::Gap => {
            when_free(press, hold, unless_left(on_gap.clone()));
            None
        }
        Notice::End => {
            // The callback waits for its turn after the last batch, which may still be waiting.
            let deliver = unless_left(on_end.clone());
            let on_beat = move || beat.run(move || when_free(press, hold, deliver));
            set_timeout(on_beat, Duration::ZERO);
            None
        }
    });
    let socket = use_socket();
    let id = socket.join(Subscriber { payload: request.body, ends, listen });
    let socket = StoredValue::new_local(socket);
    on_cleanup(move || socket.with_value(|socket| socket.leave(id)));
}

/// What was received and not delivered yet.
#[derive(Default)]
struct Undelivered {
    events: Vec<Value>,
    /// Whether the feed has begun again from its first event, before these events.
    begins_again: bool,
}

impl Undelivered {
    /// Adds an event; returns whether it is the only one.
    fn push(&mut self, event: Value) -> bool {
        self.events.push(event);
        self.events.len() == 1
    }

    /// Handles a new beginning of a feed that ends: the server sends all of its events again, so those that wait would
    /// be delivered twice.
    fn begin_again(&mut self) {
        *self = Self { events: Vec::new(), begins_again: true };
    }
}

/// Runs `work` once no pointer is pressed and no list is held.
pub(super) fn when_free(press: Press, hold: Hold, work: impl FnOnce() + 'static) {
    if press.is_held() || untrack(|| hold.is_held()) {
        set_timeout(move || when_free(press, hold, work), BEAT);
    } else {
        work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_sent_again_is_delivered_once() {
        let mut waiting = Undelivered::default();
        assert_eq!([1, 2].map(|event| waiting.push(event.into())), [true, false]);
        waiting.begin_again();
        assert!(waiting.push(1.into()));
        assert!(waiting.begins_again);
        assert_eq!(waiting.events, [Value::from(1)]);
    }
}
