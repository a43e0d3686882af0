//! Maintenance windows: planned pauses of the schedules that a search finds.
//!
//! - `detail`: one window
//! - `editor`: the form for a new window, or an existing one; `draft`: its state; `preview`: what it would hold back
//! - `actions`: change, cancel

mod actions;
mod detail;
mod draft;
mod editor;
mod preview;

pub(crate) use detail::MaintenanceWindow;
pub(crate) use editor::{EditMaintenance, NewMaintenance};

use std::time::Duration;

use leptos::prelude::*;

use super::{
    actions::effect::CHOICES,
    cursors,
    kit::{self, note, place_cell, placed},
    place,
};
use crate::{
    api,
    components::{
        self, AsyncView, Heading, Mark, Tab, badge, heading, live, pager, rows, silent_heading,
        table, ticket, when, when_relative,
    },
    data::use_listing,
    model::{self, CatchUp, MaintenanceState, Place},
    route::{Route, Scope},
    state::{use_address, use_every, use_session, use_title},
    time::amount,
};
use actions::{Actions, use_actions};

const SIZE: usize = 50;
const LOOK: Duration = Duration::from_secs(5);
/// The tab of the windows that are over.
const EARLIER: &str = "earlier";
const TABS: &[Tab] =
    &[Tab { name: "", words: "Planned and active" }, Tab { name: EARLIER, words: "Earlier" }];
/// The states of the windows that hold back fires, or will.
const OPEN: [MaintenanceState; 2] = [MaintenanceState::Planned, MaintenanceState::Active];
const OVER: [MaintenanceState; 2] = [MaintenanceState::Ended, MaintenanceState::Cancelled];

/// The list of windows: those to come, or the earlier ones.
#[component]
pub(crate) fn Maintenance() -> impl IntoView {
    use_title(|| "Maintenance".to_owned());
    let (address, session) = (use_address(), use_session());
    let windows = use_listing(SIZE, move || {
        let states = if address.query("tab") == EARLIER { OVER } else { OPEN };
        api::maintenance::windows(address.namespace(), states.to_vec(), place(address), SIZE)
    });
    let loading = windows.load.loading;
    use_every(LOOK, move || loading.refresh());
    let actions = use_actions(loading);
    let go = move |place: Place| address.go(&address.with(&cursors(&place)));
    let new = move || {
        session.operates().then(|| {
            view! { <a class="button button-primary" href=Route::NewMaintenance.path()>"Plan maintenance"</a> }
                .into_any()
        })
    };
    view! {
        <header class="page-head"><h1>"Maintenance"</h1>{move || new()}</header>
        {kit::tabs("Maintenance windows", TABS)}
        <AsyncView
            loading=loading
            what="maintenance windows"
            is_empty=Signal::derive(move || windows.list.is_empty())
            empty=move || live(move || nothing(address.query("tab") == EARLIER))
        >
            {table("Maintenance windows", "table", placed(headings(), 1), rows(windows.list, move |row| line(row, actions)))}
            {pager(windows.beside(), "maintenance windows", go)}
        </AsyncView>
        {actions.dialogs()}
    }
}

/// The view of a list without windows.
fn nothing(is_earlier: bool) -> AnyView {
    if is_earlier {
        return kit::empty(
            "No earlier maintenance",
            "Windows that have ended or were cancelled are listed here.",
        );
    }
    let words = view! {
        "A window pauses schedules for a planned time, such as a database move, and lets them fire again at its end. "
        <span>
            "For times that recur, such as every Sunday night, use "
            <a href=Route::Calendars.path()>"a calendar"</a>
            "."
        </span>
    };
    components::empty("No maintenance planned", words, ())
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Window", ""),
        heading("State", ""),
        heading("When", ""),
        heading("Schedules", ""),
        heading("Missed fires", "wide"),
        heading("Planned", "wide"),
        silent_heading("Actions"),
    ]
}

fn line(window: &model::MaintenanceWindow, actions: Actions) -> AnyView {
    let href = Route::MaintenanceWindow(window.id.clone()).path_at(&window.namespace);
    let of = window
        .ticket
        .as_ref()
        .map(|text| view! { <span class="cell-note">{ticket(text)}</span> }.into_any());
    let module = window.module.as_ref().map(|module| note(format!("declared by {module}")));
    let why = window.cancel_reason.clone().map(note);
    view! {
        <tr data-testid="maintenance-row">
            <th scope="row" class="name-cell"><a href=href>{window.title.clone()}</a>{of}{module}</th>
            {place_cell(&window.namespace)}
            <td>{badge(Mark::Maintenance(window.state))}{why}</td>
            <td>
                {when_relative(window.starts_at, None)}
                <span class="cell-note">"to "{when(window.ends_at, None)}</span>
            </td>
            <td>{which(window)}</td>
            <td class="wide">{missed_words(window.missed)}</td>
            <td class="wide">
                {when_relative(window.planned_at, None)}
                {note(format!("by {}", window.planned_by))}
            </td>
            <td class="actions-cell">{actions.of(window)}</td>
        </tr>
    }
    .into_any()
}

/// How many schedules a window pauses, with a link to them, and the search that selects them.
fn which(window: &model::MaintenanceWindow) -> AnyView {
    let count = amount(window.schedule_count, "schedule", "schedules");
    let search = window.search();
    let words = if search.is_empty() {
        note("all of the namespace")
    } else {
        view! { <code class="cell-note">{search.to_owned()}</code> }.into_any()
    };
    view! { <a class="cell-link" href=schedules_of(window)>{count}</a>{words} }.into_any()
}

/// The list of the schedules that a window selects.
fn schedules_of(window: &model::MaintenanceWindow) -> String {
    let scope = Scope::One(window.namespace.clone());
    Route::Schedules.narrowed_in(&scope, &[("q", window.search())])
}

/// The fires of a window's schedules in the ledger; `None` if it has not begun.
fn fires_of(window: &model::MaintenanceWindow) -> Option<String> {
    if window.state == MaintenanceState::Planned {
        return None;
    }
    let scope = Scope::One(window.namespace.clone());
    let (from, until) = (window.starts_at.to_rfc3339(), window.ends_at.to_rfc3339());
    let query = [("q", window.search()), ("from", from.as_str()), ("until", until.as_str())];
    Some(Route::Ledger.narrowed_in(&scope, &query))
}

/// What becomes of the fires that fall into a window, as its form says it.
fn missed_words(missed: CatchUp) -> &'static str {
    CHOICES.iter().find(|(.., choice)| *choice == missed).map_or("", |(_, words, _)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_the_words_of_the_form() {
        assert_eq!(missed_words(CatchUp::Skip), "Leave them out");
        assert_eq!(missed_words(CatchUp::Latest), "Start the latest once");
        assert!(missed_words(CatchUp::All).starts_with("Start all"));
    }

    #[test]
    fn the_tabs_have_every_state_once() {
        let mut states = [OPEN, OVER].concat();
        states.sort_unstable();
        let all = [
            MaintenanceState::Planned,
            MaintenanceState::Active,
            MaintenanceState::Ended,
            MaintenanceState::Cancelled,
        ];
        assert_eq!(states, all);
    }
}
