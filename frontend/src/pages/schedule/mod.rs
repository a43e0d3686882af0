//! A schedule: its past fires with reasons, its upcoming fires, its definition, and its actions.
//!
//! The head is one query. Events reload it, at most once a second, so state, next fires and versions always come from
//! the server. Each tab loads the data that only it shows.
//!
//! - `header`: name, state, actions
//! - `activity`: the ledger, and one fire explained; `rules`: the rules that decided about it
//! - `slots`: the last seven days in a line; `strips`: the same days by the hour
//! - `paused`: the fires that fell into a pause
//! - `buffer`: the fires that wait for a blocking run to end
//! - `runs`: its runs, whatever triggered them; `durations`: how long they took
//! - `next`: the upcoming fires, the next clock changes; `days`: the next 90 days as a calendar
//! - `definition`: the definition, and its behaviour when something goes wrong; `watchdog`: whom it calls about its runs
//! - `versions`: who changed what, the differences, and rollback
//! - `audit`: every action on it

pub(super) mod activity;
pub(super) mod audit;
pub(super) mod buffer;
mod days;
pub(super) mod definition;
mod durations;
mod effect;
mod explain;
mod header;
pub(super) mod next;
mod next_fires;
pub(super) mod paused;
mod rules;
pub(super) mod runs;
mod slots;
mod strips;
mod target;
pub(super) mod versions;
mod watchdog;

pub(in crate::pages) use effect::effect as definition_effect;
pub(in crate::pages) use explain::explain;
pub(in crate::pages) use next_fires::fire_table;
pub(in crate::pages) use rules::rules;

use leptos::prelude::*;

use super::{
    NotFound,
    actions::{Action, Actions, use_actions},
    kit, parts,
};
use crate::{
    api,
    components::{AsyncView, Tab, is_id, live, tab_of, tabs, warning_list},
    data::{Feed, Load, use_feed, use_load},
    model::{Code, ScheduleDetail},
    route::Route,
    state::{Address, Session, use_address, use_session, use_title},
};

/// What a tab is called if its code cannot be loaded.
const PART: &str = "part of the page";

/// The tabs: the first is the most used.
const TABS: [Tab; 6] = [
    Tab { name: "", words: "Activity" },
    Tab { name: "runs", words: "Runs" },
    Tab { name: "next", words: "Next" },
    Tab { name: "definition", words: "Definition" },
    Tab { name: "versions", words: "Versions" },
    Tab { name: "audit", words: "Audit" },
];

/// What the address holds for one tab alone.
const OF_A_TAB: [&str; 9] =
    ["after", "before", "verdict", "from", "until", "day", "state", "sort", "columns"];

/// The page of the schedule with this id. A malformed id is not sent to the server.
#[component]
pub(crate) fn Schedule(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    let (session, address) = (use_session(), use_address());
    let key = id.clone();
    let load: Load<ScheduleDetail> = use_load(move || Some(api::schedule(key.clone())));
    kit::settle(load, |schedule| &schedule.row.namespace);
    let title = move || load.with(|schedule| schedule.row.name.clone());
    use_title(move || title().unwrap_or_else(|| "Schedule".to_owned()));
    let actions = use_actions(vec![load.loading]);
    let changed = move || load.loading.refresh();
    let key = id.clone();
    use_feed(
        move || Feed::schedules(address.namespace(), Some(vec![key.clone()])),
        move |_| changed(),
        changed,
    );
    open_asked(id.clone(), load, actions, address);
    let tab = Memo::new(move |_| tab_of(&TABS, &address.query("tab")));
    // The code of the other tabs is loaded when one of them is opened.
    let id = StoredValue::new(id);
    let content = move || {
        live(move || match tab.get() {
            "runs" => parts::schedule_runs(id, load).show(PART),
            "next" => parts::schedule_next(id, load).show(PART),
            "definition" => parts::schedule_definition(load).show(PART),
            "versions" => parts::schedule_versions(load, actions).show(PART),
            "audit" => parts::schedule_audit(id).show(PART),
            _ => view! { <activity::Activity schedule=id.get_value() load=load/> }.into_any(),
        })
    };
    let href = move |name: &'static str| {
        let mut changes = vec![("tab", name)];
        changes.extend(OF_A_TAB.map(|other| (other, "")));
        address.with(&changes)
    };
    let is_gone = Memo::new(move |_| {
        load.loading.failure().is_some_and(|failure| failure.code == Code::NotFound)
    });
    view! {
        {live(move || if is_gone.get() { gone(address, session) } else { ().into_any() })}
        <AsyncView loading=load.loading what="the schedule">
            {header::header(load, session, actions)}
            {load.draw(|schedule| warning_list(schedule.row.timing.warnings.iter()))}
            {tabs("Parts of the schedule", &TABS, tab.into(), href)}
            {content()}
        </AsyncView>
        {actions.dialogs()}
    }
}

/// Where a deleted schedule can be found; tracked. Runs, fires and alerts keep their links to it. In the view of all
/// namespaces, its namespace is not known, and each has a list of its own.
fn gone(address: Address, session: Session) -> AnyView {
    let by = if session.edits() { "" } else { " by an editor" };
    let list = if address.is_across() {
        "deleted schedules of its namespace".into_any()
    } else {
        let href = Route::Schedules.narrowed(&[("deleted", "yes")]);
        view! { <a href=href>"deleted schedules"</a> }.into_any()
    };
    view! {
        <p class="panel-note" data-testid="gone">
            "If it was deleted within the last 7 days, it can be restored"{by}" from the "{list}"."
        </p>
    }
    .into_any()
}

/// The choices of a filter as links, each with its value in the address and its words.
fn filter_links(
    address: Address,
    label: &'static str,
    name: &'static str,
    choices: [(&'static str, &'static str); 5],
) -> AnyView {
    let link = move |(value, words): (&'static str, &'static str)| {
        let href = move || address.href(&[(name, value), ("after", ""), ("before", "")]);
        let is_chosen = move || (address.query(name) == value).then_some("true");
        view! { <a href=move || href() aria-current=move || is_chosen()>{words}</a> }.into_any()
    };
    view! { <nav class="filters" aria-label=label>{Vec::from(choices.map(link))}</nav> }.into_any()
}

/// Whether the focus is within an element that matches the selector.
fn has_focus(selector: &str) -> bool {
    let focused = document().active_element();
    focused.is_some_and(|focused| focused.closest(selector).ok().flatten().is_some())
}

/// Opens the dialog that the address names, once. The palette leads here to pause or resume.
fn open_asked(id: String, load: Load<ScheduleDetail>, actions: Actions, address: Address) {
    let here = Some(Route::Schedule(id));
    Effect::new(move |_| {
        let action = match &*address.query("do") {
            "pause" => Action::Pause,
            "resume" => Action::Resume,
            _ => return,
        };
        // The query may already be that of another schedule's page, which is about to replace this page.
        if untrack(|| address.route()) != here {
            return;
        }
        if let Some(ask) = load.with(|schedule| actions.ask(action, &schedule.row)) {
            address.replace(&address.with(&[("do", "")]));
            ask();
        }
    });
}
