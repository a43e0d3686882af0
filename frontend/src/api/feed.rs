//! A subscription as a page sees it: events in batches, a few times a second, until the page goes.
//!
//! A storm of runs changes a list more often than anybody can read; what comes within a fifth of a second is handed over
//! at once, so a page draws once for it.

use std::{cell::RefCell, rc::Rc, time::Duration};

use graphql_client::GraphQLQuery;
use leptos::prelude::*;

use super::{
    operations::{LogLines, RunEvents, ScheduleEvents, log_lines, run_events, schedule_events},
    socket::Notice,
};
use crate::{
    model::{Line, RunRow, ScheduleRow},
    state::use_socket,
};

const BEAT: Duration = Duration::from_millis(200);

/// Subscribes until the owner goes. `read` takes an event apart into its cursor and its value.
fn use_feed<Q, T>(
    variables: impl Fn(Option<String>) -> Q::Variables + 'static,
    read: impl Fn(Q::ResponseData) -> (String, T) + 'static,
    on_batch: impl Fn(Vec<T>) + 'static,
    on_gap: impl Fn() + 'static,
) where
    Q: GraphQLQuery,
    T: 'static,
{
    let batch = Rc::new(RefCell::new(Vec::new()));
    let on_batch = Rc::new(on_batch);
    // Lives as long as the page does: a timer that comes later finds it gone.
    let here = StoredValue::new(());
    let payload = Box::new(move |since| {
        serde_json::to_value(Q::build_query(variables(since))).unwrap_or_default()
    });
    let deliver = Rc::new(move |notice| match notice {
        Notice::Event(data) => {
            let (cursor, value) = read(serde_json::from_value(data).ok()?);
            batch.borrow_mut().push(value);
            if batch.borrow().len() == 1 {
                let (batch, on_batch) = (batch.clone(), on_batch.clone());
                set_timeout(
                    move || {
                        let events = batch.take();
                        if !here.is_disposed() {
                            on_batch(events);
                        }
                    },
                    BEAT,
                );
            }
            Some(cursor)
        }
        Notice::Gap => {
            on_gap();
            None
        }
    });
    let socket = use_socket();
    let id = socket.join(payload, deliver);
    let socket = StoredValue::new_local(socket);
    on_cleanup(move || socket.with_value(|socket| socket.leave(id)));
}

/// Runs as they change: all, those of a schedule, or one.
pub(crate) fn use_run_feed(
    schedule: Option<String>,
    run: Option<String>,
    on_batch: impl Fn(Vec<RunRow>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    use_feed::<RunEvents, _>(
        move |since| run_events::Variables {
            schedule_id: schedule.clone(),
            run_id: run.clone(),
            since,
        },
        |data| (data.run_events.cursor, data.run_events.run.into()),
        on_batch,
        on_gap,
    );
}

/// Schedules as they change; the row is `None` when the schedule was deleted.
pub(crate) fn use_schedule_feed(
    ids: Option<Vec<String>>,
    on_batch: impl Fn(Vec<(String, Option<ScheduleRow>)>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    use_feed::<ScheduleEvents, _>(
        move |since| schedule_events::Variables { ids: ids.clone(), since },
        |data| {
            let event = data.schedule_events;
            (event.cursor, (event.schedule_id, event.schedule.map(Into::into)))
        },
        on_batch,
        on_gap,
    );
}

/// A run's log from its first line on, and further while it is written.
pub(crate) fn use_log_feed(
    run: String,
    on_batch: impl Fn(Vec<Line>) + 'static,
    on_gap: impl Fn() + 'static,
) {
    use_feed::<LogLines, _>(
        move |since| log_lines::Variables { run_id: run.clone(), since },
        |data| (data.task_log.cursor.clone(), data.task_log.into()),
        on_batch,
        on_gap,
    );
}
