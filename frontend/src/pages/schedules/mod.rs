//! The list of schedules: filtered by text, tag and state in the address, live, with the actions of daily work.
//!
//! - `wanted`: the filters and order in the address
//! - `filters`: the query bar
//! - `groups`: the list by tag or by module
//! - `row`: a schedule in a row, with its actions

mod filters;
mod groups;
mod row;
mod wanted;

use std::{collections::BTreeMap, time::Duration};

use leptos::prelude::*;

use self::wanted::Wanted;
use super::{
    actions::use_actions,
    bulk::{BulkBar, Subjects},
    cursors, kept,
    overview::new_schedule,
};
use crate::{
    api::{self},
    components::{AsyncView, PageHead, Selection, Table, empty, live, pager},
    data::{Feed, Listing, use_actor, use_feed, use_listing},
    model::{ScheduleEvent, ScheduleRow},
    route::Route,
    state::{use_address, use_every, use_session, use_title},
};

const SIZE: usize = 50;
/// How often a list that cannot follow all changes is loaded again.
const LOOK: Duration = Duration::from_secs(30);

/// The list.
#[component]
pub(crate) fn Schedules() -> impl IntoView {
    use_title(|| "Schedules".to_owned());
    let (session, address) = (use_session(), use_address());
    let wanted = move || Wanted::of(address);
    let schedules = use_listing(SIZE, move || api::schedules(wanted().query(), SIZE));
    let actions = use_actions(vec![schedules.load.loading]);
    follow(schedules, move || untrack(wanted));
    let go = move |place| address.go(&address.with(&cursors(&place)));
    let count = move || schedules.load.with(|page| page.total).flatten().map(total_words);
    let selection = Selection::new();
    let actor = use_actor();
    let star = Callback::new(move |(id, is_favourite): (String, bool)| {
        actor.send(api::set_favourite(id, is_favourite), move |outcome| match outcome {
            Ok(_) => schedules.load.loading.reload(),
            Err(failure) => actor.complain(&failure),
        });
    });
    let names = use_names(schedules);
    let subjects = Subjects {
        selection,
        names: Signal::derive(move || {
            let ids = selection.ids();
            names.with_value(|names| ids.iter().filter_map(|id| names.get(id).cloned()).collect())
        }),
        search: Memo::new(move |_| address.query("q")).into(),
        total: Signal::derive(move || schedules.load.with(|page| page.total).flatten()),
        list: schedules.load.loading,
    };
    // A bulk action applies to one namespace.
    let bulk = move || match session.operates() && !address.is_across() {
        true => view! { <BulkBar subjects=subjects/> }.into_any(),
        false => ().into_any(),
    };
    let table = move || {
        let is_across = untrack(|| address.is_across());
        let columns = row::columns(is_across);
        let table = Table::new("Schedules", schedules.list, columns, row::name);
        let table = if is_across { table } else { table.select(selection) };
        table
            .choose_columns(kept(address, "columns"))
            .sort(kept(address, "sort"))
            .actions(move |schedule| row::actions(schedule, session, actions, star))
            .view()
    };
    let head = PageHead::new("Schedules")
        .aside(view! { <span class="muted" role="status">{move || count()}</span> })
        .actions(live(move || if session.edits() { new_schedule() } else { ().into_any() }));
    view! {
        {head.view()}
        {filters::bar(schedules)}
        {groups::list()}
        {live(move || bulk())}
        <AsyncView
            loading=schedules.load.loading
            what="schedules"
            is_empty=Signal::derive(move || schedules.list.is_empty())
            empty=move || nothing(wanted().is_narrowed())
        >
            {table()}
            {pager(schedules.beside(), "schedules", go)}
        </AsyncView>
        {actions.dialogs()}
    }
}

/// The names of all schedules that were on the page: the selection is kept on the next page.
fn use_names(schedules: Listing<ScheduleRow>) -> StoredValue<BTreeMap<String, String>> {
    let names = StoredValue::new(BTreeMap::new());
    Effect::new(move |_| {
        let _none_yet = schedules.load.with(|page| {
            let all = page.rows.iter().map(|row| (row.id.clone(), row.name.clone()));
            names.update_value(|names| names.extend(all));
        });
    });
    names
}

/// A row of an event, with the fields that only lists request kept from the known row.
fn with_history(row: ScheduleRow, schedules: Listing<ScheduleRow>) -> ScheduleRow {
    match schedules.list.get(&row.id).and_then(|known| known.get::<ScheduleRow>()) {
        Some(known) => ScheduleRow {
            is_favourite: known.is_favourite,
            recent_fires: known.recent_fires.clone(),
            module: known.module.clone(),
            ..row
        },
        None => row,
    }
}

/// Follows the schedules on the page. If the page contains all schedules, follows everything, so that a new one is
/// added at once. A larger server has too many changes for that: there, the list is loaded again from time to time.
fn follow(
    schedules: Listing<ScheduleRow>,
    wanted: impl Fn() -> Wanted + Copy + Send + Sync + 'static,
) {
    let loading = schedules.load.loading;
    let shown = Memo::new(move |_| {
        let is_all = !wanted().is_narrowed()
            && schedules.load.with(|page| page.next.is_none() && page.previous.is_none())?;
        let mut ids = schedules.list.ids();
        ids.sort_unstable();
        Some((!is_all).then_some(ids))
    });
    let merge = move |events: Vec<ScheduleEvent>| {
        for event in events {
            match event.schedule {
                Some(row) if schedules.list.knows(&row.id) => {
                    schedules.merge(vec![with_history(row, schedules)], false, |_| true);
                    // Only the server knows whether it still matches the search, and its newest bar.
                    loading.refresh();
                }
                // Only the server knows whether a new schedule belongs on this page, and where.
                Some(_) => loading.refresh(),
                None => schedules.remove(event.schedule_id),
            }
        }
    };
    // Other rows need another feed: each belongs to its run of the effect, which drops the previous one.
    let address = use_address();
    Effect::new(move |_| {
        if let Some(ids) = shown.get() {
            let feed = move || Feed::schedules(address.namespace(), ids.clone());
            use_feed(feed, merge, move || loading.reload());
        }
    });
    use_every(LOOK, move || loading.refresh());
}

fn nothing(is_narrowed: bool) -> AnyView {
    if is_narrowed {
        let all = view! { "Search for something else, or "<a href=Route::Schedules.path()>"see all schedules"</a>"." };
        return empty("No schedule matches", all, ());
    }
    let words = "A schedule defines when something runs, and what happens when it cannot run.";
    let way = view! { <p><a class="button" href=Route::NewSchedule.path()>"Create the first one"</a></p> };
    empty("No schedules yet", words, way)
}

/// The server stops counting at ten thousand.
fn total_words(total: i64) -> String {
    match total {
        1 => "1 schedule".to_owned(),
        10_000.. => "10 000 or more schedules".to_owned(),
        _ => format!("{total} schedules"),
    }
}
