//! The list of schedules, live, with the actions of daily work. Text, tag and state in the address filter it.
//!
//! - `wanted`: the filters and order in the address
//! - `filters`: the query bar
//! - `groups`: counts by tag or by module
//! - `row`: a schedule in a row, with its actions
//! - `history`: the recent fires, which are loaded after the rows
//! - `follow`: subscribes to changes of the schedules on the page
//! - `deleted`: deleted schedules, which can be restored

pub(super) mod deleted;
mod filters;
mod follow;
pub(super) mod groups;
mod history;
mod row;
mod wanted;

use std::collections::BTreeMap;

pub(super) use filters::FIELDS as SEARCH_FIELDS;

use leptos::prelude::*;

use self::{follow::follow, history::use_histories, wanted::Wanted};
use super::{
    actions::use_actions,
    bulk::{self, BulkBar, Subjects},
    cursors, kept,
    overview::new_schedule,
    parts,
};
use crate::{
    api::{self},
    components::{AsyncView, PageHead, Selection, Table, empty, live, pager},
    data::{Listing, use_actor, use_listing, use_total},
    model::ScheduleRow,
    route::Route,
    state::{use_address, use_session, use_title},
};

const SIZE: usize = 50;

/// The list of schedules, or the list of deleted ones.
#[component]
pub(crate) fn Schedules() -> impl IntoView {
    use_title(|| "Schedules".to_owned());
    let address = use_address();
    let is_deleted = Memo::new(move |_| address.query("deleted") == "yes");
    live(move || match is_deleted.get() {
        true => parts::deleted_schedules().show("page"),
        false => view! { <AllSchedules/> }.into_any(),
    })
}

/// The schedules that are not deleted.
#[component]
fn AllSchedules() -> impl IntoView {
    let (session, address) = (use_session(), use_address());
    let wanted = move || Wanted::of(address);
    let schedules = use_listing(SIZE, move || api::schedules(wanted().query(), SIZE));
    let actions = use_actions(vec![schedules.load.loading]);
    follow(schedules, move || untrack(wanted));
    let go = move |place| address.go(&address.with(&cursors(&place)));
    let total = use_total(schedules, move || api::schedule_count(wanted().query()));
    let count = move || total.get().map(total_words);
    let histories = use_histories(schedules);
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
        label: "Actions for the selected schedules",
        kinds: bulk::Kind::OF_SCHEDULES,
        selection,
        chosen: Signal::derive(move || {
            let ids = selection.ids();
            let known = |names: &BTreeMap<String, String>| {
                ids.iter().filter_map(|id| names.get(id).cloned()).collect::<Vec<_>>()
            };
            bulk::by_name(&names.with_value(known))
        }),
        // The search language cannot select favourites, so an action on all matches is not offered for them.
        search: Memo::new(move |_| match address.query("favourites") == "yes" {
            true => String::new(),
            false => address.query("q"),
        })
        .into(),
        has_more: Signal::derive(move || {
            total.get().is_some_and(|total| total > selection.count() as i64)
        }),
        total,
        list: schedules.load.loading,
    };
    // A bulk action applies to one namespace.
    let bulk = move || match session.operates() && !address.is_across() {
        true => view! { <BulkBar subjects=subjects/> }.into_any(),
        false => ().into_any(),
    };
    let table = move || {
        let is_across = untrack(|| address.is_across());
        let columns = row::columns(is_across, histories);
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
        {groups(schedules)}
        {live(move || bulk())}
        <AsyncView
            loading=schedules.load.loading
            what="schedules"
            is_empty=Signal::derive(move || schedules.list.is_empty())
            empty=move || nothing(wanted().is_narrowed(), session.edits())
        >
            {table()}
            {pager(schedules.beside(), "schedules", go)}
        </AsyncView>
        {actions.dialogs()}
    }
}

/// The groups, if the address asks for them.
fn groups(schedules: Listing<ScheduleRow>) -> AnyView {
    let address = use_address();
    let is_grouped = Memo::new(move |_| groups::by(address).is_some());
    live(move || match is_grouped.get() {
        true => parts::schedule_groups(schedules).show("part of the page"),
        false => ().into_any(),
    })
}

/// The names of all schedules that were on the page, because the selection is kept on the next page.
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

fn nothing(is_narrowed: bool, may_create: bool) -> AnyView {
    if is_narrowed {
        let all = view! { "Search for something else, or "<a href=Route::Schedules.path()>"see all schedules"</a>"." };
        return empty("No schedule matches", all, ());
    }
    let words = "A schedule defines when something runs, and what happens when it cannot run.";
    let way = may_create.then(|| {
        view! { <p><a class="button" href=Route::NewSchedule.path()>"Create the first one"</a></p> }
            .into_any()
    });
    empty("No schedules yet", words, way)
}

/// The number of schedules, in words. The server stops counting at ten thousand.
fn total_words(total: i64) -> String {
    match total {
        1 => "1 schedule".to_owned(),
        10_000.. => "10 000 or more schedules".to_owned(),
        _ => format!("{total} schedules"),
    }
}
