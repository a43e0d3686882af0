//! A subscription as a page sees it: events in batches, a few times a second, until the page is left.
//!
//! A burst of runs changes a list faster than anybody can read. Events that arrive within a fifth of a second are
//! delivered together, so the page draws once for them. Nothing moves while the pointer is pressed or lists are held:
//! events wait until then.

use std::{cell::RefCell, rc::Rc, time::Duration};

use leptos::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::use_socket;
use crate::{
    api::{Feed, Notice, Request, Subscriber, pluck, read},
    state::{Hold, Press, use_hold, use_press},
};

const BEAT: Duration = Duration::from_millis(200);

/// Subscribes until the owner is disposed, and again whenever a signal that `feed` reads has changed, such as the
/// namespace of the address. `on_gap` is called when events may have been missed: once the subscription is active,
/// and whenever the server could not continue from the last event.
pub(crate) fn use_feed<T: DeserializeOwned + 'static>(
    feed: impl Fn() -> Feed<T> + 'static,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    use_ending_feed(feed, on_batch, on_gap, || {});
}

/// The same for a feed that the server completes: `on_end` is called once it has sent everything.
pub(crate) fn use_ending_feed<T: DeserializeOwned + 'static>(
    feed: impl Fn() -> Feed<T> + 'static,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
    on_end: impl Fn() + 'static,
) {
    let on_batch: Rc<dyn Fn(Vec<Value>)> = Rc::new(move |events: Vec<Value>| {
        on_batch(events.into_iter().filter_map(|event| read(event).ok()).collect());
    });
    let listeners = Listeners { on_batch, on_gap: Rc::new(on_gap), on_end: Rc::new(on_end) };
    // Each feed belongs to its run of the effect, which also drops its subscription.
    Effect::new(move |_| {
        let Feed { events, ends } = feed();
        follow(events.request, ends, listeners.clone());
    });
}

/// What a feed calls.
#[derive(Clone)]
struct Listeners {
    on_batch: Rc<dyn Fn(Vec<Value>)>,
    on_gap: Rc<dyn Fn()>,
    on_end: Rc<dyn Fn()>,
}

fn follow(request: Request, ends: bool, listeners: Listeners) {
    let Listeners { on_batch, on_gap, on_end } = listeners;
    let batch = Rc::new(RefCell::new(Vec::new()));
    // Lives as long as the page: a timer that fires later finds it disposed.
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
    let listen = Rc::new(move |notice| match notice {
        Notice::Event(mut data) => {
            let event = pluck(&mut data, at)?;
            let cursor = event["cursor"].as_str().map(str::to_owned);
            batch.borrow_mut().push(event);
            hold.count();
            if batch.borrow().len() == 1 {
                let (batch, on_batch) = (batch.clone(), on_batch.clone());
                let deliver = unless_left(Rc::new(move || on_batch(batch.take())));
                set_timeout(move || when_free(press, hold, deliver), BEAT);
            }
            cursor
        }
        Notice::Gap => {
            when_free(press, hold, unless_left(on_gap.clone()));
            None
        }
        Notice::End => {
            // After the last batch, which may still be waiting.
            let deliver = unless_left(on_end.clone());
            set_timeout(move || when_free(press, hold, deliver), BEAT);
            None
        }
    });
    let socket = use_socket();
    let id = socket.join(Subscriber { payload: request.body, ends, listen });
    let socket = StoredValue::new_local(socket);
    on_cleanup(move || socket.with_value(|socket| socket.leave(id)));
}

/// Does the work once no pointer is pressed and nothing is held.
pub(super) fn when_free(press: Press, hold: Hold, work: impl FnOnce() + 'static) {
    if press.is_held() || untrack(|| hold.is_held()) {
        set_timeout(move || when_free(press, hold, work), BEAT);
    } else {
        work();
    }
}
