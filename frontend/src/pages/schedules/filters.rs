//! The query bar. It filters while the user types, a moment after the last key, without adding to the browser's
//! history.

use leptos::prelude::*;

use super::groups;
use crate::{
    components::{QueryBar, QueryField, QueryView},
    data::{Listing, Loading},
    model::ScheduleRow,
    pages::{suggest, views::use_views},
    route::Route,
    state::use_address,
};

/// Views that every user has.
const VIEWS: [QueryView; 8] = [
    ("Failing", "state:failed,timed_out"),
    ("Losing runs", "lost:<1d"),
    ("Skipping fires", "skipped:<1d"),
    ("Late", "late:>1m"),
    ("Paused", "state:paused"),
    ("Never fires", "state:active next:never"),
    ("Due in the next hour", "next:<1h"),
    ("Changed today", "updated:<1d"),
];

/// The fields of a search for schedules.
pub(in crate::pages) const FIELDS: [QueryField; 18] = [
    QueryField::new(
        "state",
        "its state, or that of its last run",
        &[
            "active",
            "paused",
            "finished",
            "exhausted",
            "failed",
            "timed_out",
            "running",
            "succeeded",
        ],
    ),
    QueryField::new("tag", "one of its tags", &[]),
    QueryField::new("name", "a part of its name", &[]),
    QueryField::new("note", "a part of its note", &[]),
    QueryField::new("workflow", "what it runs", &[]),
    QueryField::new("zone", "the time zone it follows", &[]),
    QueryField::new("group", "its concurrency group", &[]),
    QueryField::new("module", "the module that declares it", &[]),
    QueryField::new("calendar", "one of its calendars", &[]),
    QueryField::new("no", "what it lacks", &["tag", "module", "group", "calendar", "note"]),
    QueryField::new("next", "when it is due", &["<1h", "<1d", "never"]),
    QueryField::new("last", "the last fire", &["<1h", ">1d"]),
    QueryField::new("lost", "when it last lost a fire", &["<1h", "<1d", "never"]),
    QueryField::new("skipped", "when it last skipped a fire for load", &["<1h", "<1d", "never"]),
    QueryField::new("late", "how late its newest run started", &[">10s", ">1m", ">1h"]),
    QueryField::new("paused", "since when", &[">1d", ">1w"]),
    QueryField::new("updated", "when it last changed", &["<1h", "<1d", "<1w"]),
    QueryField::new("created", "when it was created", &["<1d", "<1w"]),
];

/// The query bar.
pub(super) fn bar(schedules: Listing<ScheduleRow>) -> AnyView {
    let address = use_address();
    let search = Callback::new(move |text: String| {
        address.replace(&address.with(&[("q", &text), ("after", ""), ("before", "")]));
    });
    let value = Memo::new(move |_| address.query("q"));
    let tags = suggest::tags_in(value.into());
    let calendars = suggest::calendars_in(value.into());
    let loading: Loading = schedules.load.loading;
    let is_starred = move || (address.query("favourites") == "yes").to_string();
    let star = move |_| {
        let next = if untrack(|| address.query("favourites")).is_empty() { "yes" } else { "" };
        address.replace(&address.with(&[("favourites", next), ("after", ""), ("before", "")]));
    };
    view! {
        <button type="button" class="query-view favourites" aria-pressed=is_starred on:click=star>"Favourites"</button>
        {groups::choice()}
        <a class="query-view" href=Route::Schedules.narrowed(&[("deleted", "yes")])>"Deleted"</a>
        <QueryBar
            label="Search schedules"
            placeholder="report tag:billing state:failed next:<1h"
            value=value
            loading=loading
            search=search
            fields=&FIELDS
            views=&VIEWS
            own=use_views("schedules")
            known=Signal::derive(move || known(schedules, tags.get(), calendars.get()))
        />
    }
    .into_any()
}

/// All tags and calendars, and the workflows and zones of the visible schedules.
fn known(
    schedules: Listing<ScheduleRow>,
    tags: Vec<String>,
    calendars: Vec<String>,
) -> Vec<(&'static str, Vec<String>)> {
    let of = |take: &dyn Fn(&ScheduleRow) -> Option<String>| schedules.distinct(take);
    vec![
        ("tag", tags),
        ("calendar", calendars),
        ("workflow", of(&|row| Some(row.workflow.name.clone()))),
        ("zone", of(&|row| Some(row.timing.zone.clone()))),
    ]
}
