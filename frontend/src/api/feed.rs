//! A subscription as a page sees it: events in batches, a few times a second, until the page goes.
//!
//! A storm of runs changes a list more often than anybody can read; what comes within a fifth of a second is handed over
//! at once, so a page draws once for it. Nothing moves under a pointer that is down: it waits for the release.

use std::{cell::RefCell, rc::Rc, time::Duration};

use leptos::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Ask,
    ask::{Request, pluck, read},
    operations::{
        ClusterEvents, HealthEvents, LogLines, RunEvents, ScheduleEvents, cluster_events,
        health_events, log_lines, run_events, schedule_events,
    },
    socket::{Notice, Subscriber},
};
use crate::{
    model::{ClusterEvent, HealthEvent, LogEvent, RunEvent, ScheduleEvent},
    state::{Press, use_press, use_socket},
};

const BEAT: Duration = Duration::from_millis(200);

/// Something that can be followed.
pub(crate) struct Feed<T> {
    events: Ask<T>,
    /// Whether it comes to an end by itself, as the log of a run does.
    ends: bool,
}

impl Feed<RunEvent> {
    /// Runs as they change: all, those of a schedule, or one.
    pub(crate) fn runs(schedule_id: Option<String>, run_id: Option<String>) -> Self {
        let variables = run_events::Variables { schedule_id, run_id, since: None };
        Self { events: Ask::new::<RunEvents>(variables), ends: false }
    }
}

impl Feed<ScheduleEvent> {
    /// Schedules as they change: these, or all.
    pub(crate) fn schedules(ids: Option<Vec<String>>) -> Self {
        let variables = schedule_events::Variables { ids, since: None };
        Self { events: Ask::new::<ScheduleEvents>(variables), ends: false }
    }
}

impl Feed<ClusterEvent> {
    /// Nodes as they come, beat and go.
    pub(crate) fn nodes() -> Self {
        let variables = cluster_events::Variables { since: None };
        Self { events: Ask::new::<ClusterEvents>(variables), ends: false }
    }
}

impl Feed<HealthEvent> {
    /// The health of all namespaces as what is wrong changes.
    pub(crate) fn health() -> Self {
        let variables = health_events::Variables { since: None };
        Self { events: Ask::new::<HealthEvents>(variables), ends: false }
    }
}

impl Feed<LogEvent> {
    /// A run's log from its first line on, and further while it is written.
    pub(crate) fn log(run_id: String) -> Self {
        let variables = log_lines::Variables { run_id, since: None };
        Self { events: Ask::new::<LogLines>(variables), ends: true }
    }
}

/// Subscribes until the owner goes. `on_gap` is told when events may have been missed: once the feed is open, and
/// whenever the server could not go on from where it was.
pub(crate) fn use_feed<T: DeserializeOwned + 'static>(
    feed: Feed<T>,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    let on_batch = move |events: Vec<Value>| {
        on_batch(events.into_iter().filter_map(|event| read(event).ok()).collect());
    };
    follow(feed.events.request, feed.ends, Rc::new(on_batch), Rc::new(on_gap));
}

fn follow(request: Request, ends: bool, on_batch: Rc<dyn Fn(Vec<Value>)>, on_gap: Rc<dyn Fn()>) {
    let batch = Rc::new(RefCell::new(Vec::new()));
    // Lives as long as the page does: a timer that comes later finds it gone.
    let here = StoredValue::new(());
    let press = use_press();
    let at = request.at;
    let listen = Rc::new(move |notice| match notice {
        Notice::Event(mut data) => {
            let event = pluck(&mut data, at)?;
            let cursor = event["cursor"].as_str().map(str::to_owned);
            batch.borrow_mut().push(event);
            if batch.borrow().len() == 1 {
                let (batch, on_batch) = (batch.clone(), on_batch.clone());
                let deliver = move || {
                    let events = batch.take();
                    if !here.is_disposed() {
                        on_batch(events);
                    }
                };
                set_timeout(move || when_released(press, deliver), BEAT);
            }
            cursor
        }
        Notice::Gap => {
            let on_gap = on_gap.clone();
            let deliver = move || {
                if !here.is_disposed() {
                    on_gap();
                }
            };
            when_released(press, deliver);
            None
        }
    });
    let socket = use_socket();
    let id = socket.join(Subscriber { payload: request.body, ends, listen });
    let socket = StoredValue::new_local(socket);
    on_cleanup(move || socket.with_value(|socket| socket.leave(id)));
}

fn when_released(press: Press, deed: impl FnOnce() + 'static) {
    if press.is_held() {
        set_timeout(move || when_released(press, deed), BEAT);
    } else {
        deed();
    }
}
