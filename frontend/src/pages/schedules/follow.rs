//! Subscribes to changes of the schedules on the page. If the page contains all schedules, it subscribes to
//! everything, so that a new schedule is added at once. A larger server has too many changes for that: there, the
//! list is reloaded from time to time.

use std::{collections::BTreeSet, time::Duration};

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::wanted::Wanted;
use crate::{
    data::{Feed, Listing, use_feed},
    model::{ScheduleEvent, ScheduleRow},
    state::{use_address, use_every},
};

/// How often a list is reloaded that cannot subscribe to all changes.
const LOOK: Duration = Duration::from_secs(30);
/// How long a list must show the same schedules before it subscribes to them.
const SETTLED: Duration = Duration::from_millis(500);

/// The ids of the schedules on a page. The inner `None` means that the page contains all schedules; the outer one,
/// that it is not loaded.
type Shown = Option<Option<Vec<String>>>;

pub(super) fn follow(
    schedules: Listing<ScheduleRow>,
    wanted: impl Fn() -> Wanted + Copy + Send + Sync + 'static,
) {
    let loading = schedules.load.loading;
    let shown = Memo::new(move |_| {
        let is_one = schedules.load.with(|page| page.next.is_none() && page.previous.is_none())?;
        let is_all = is_one && !wanted().is_narrowed();
        // A set, because the code that sorts it is here for others already.
        let ids: BTreeSet<String> = schedules.list.ids().into_iter().collect();
        Some((!is_all).then(|| ids.into_iter().collect()))
    });
    let followed = use_settled(shown);
    let merge = move |events: Vec<ScheduleEvent>| {
        for event in events {
            match event.schedule {
                Some(row) if schedules.list.knows(&row.id) => {
                    schedules.merge(vec![with_fields_of_list(row, schedules)], false, |_| true);
                    // Only the server knows whether the schedule still matches the search, and its latest bar.
                    loading.refresh();
                }
                // Only the server knows whether a new schedule belongs on this page, and where.
                Some(_) => loading.refresh(),
                None => schedules.remove(event.schedule_id),
            }
        }
    };
    // Other rows need another feed. Each feed belongs to a run of the effect, and the next run drops it.
    let address = use_address();
    Effect::new(move |_| {
        if let Some(ids) = followed.get() {
            let feed = move || Feed::schedules(address.namespace(), ids.clone());
            use_feed(feed, merge, move || loading.reload());
        }
    });
    use_every(LOOK, move || loading.refresh());
}

/// The schedules to subscribe to: those of the first list, and those of a later list once it has been shown for a
/// moment.
///
/// A new feed makes the page reload its list once, because changes may have been missed. While the user types, each
/// key produces another list. With a feed for each list, the server would search twice for every key, and the second
/// search would delay that of the next key.
fn use_settled(shown: Memo<Shown>) -> Memo<Shown> {
    let settled = RwSignal::new(None);
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(timer) = timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let shown = shown.get();
        stop();
        if settled.with_untracked(Option::is_none) {
            settled.set(shown);
        } else {
            let later = move || {
                let _gone = settled.try_set(shown);
            };
            timer.set_value(set_timeout_with_handle(later, SETTLED).ok());
        }
    });
    on_cleanup(stop);
    // A list that returns within that moment changes nothing.
    Memo::new(move |_| settled.get())
}

/// The row of an event, completed from the known row with the fields that only lists request.
fn with_fields_of_list(row: ScheduleRow, schedules: Listing<ScheduleRow>) -> ScheduleRow {
    match schedules.list.get(&row.id).and_then(|known| known.get::<ScheduleRow>()) {
        Some(known) => {
            ScheduleRow { is_favourite: known.is_favourite, module: known.module.clone(), ..row }
        }
        None => row,
    }
}
