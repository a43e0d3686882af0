//! The schedule's runs, whatever triggered them. The address holds the states, the order and the page.

use leptos::prelude::*;

use super::{durations::durations, filter_links};
use crate::{
    api::{self, RunQuery},
    components::{AsyncView, Table, empty, pager, run_columns, run_name},
    data::{Feed, Load, Loading, use_feed, use_listing},
    model::{Place, RunRow, RunState, ScheduleDetail},
    pages::{cursors, kept, place, run_actions::use_run_actions, runs::order},
    state::{Address, Throttle, use_address},
};

const SIZE: usize = 15;
/// How often the runs are reloaded at most because some have settled.
const SETTLED_MS: i64 = 5_000;

/// The filter's choices: its name in the address, its words, its states.
const FILTERS: [(&str, &str, &[RunState]); 5] = [
    ("", "All", &[]),
    ("live", "Live", &[RunState::Queued, RunState::Running, RunState::Retrying]),
    ("succeeded", "Succeeded", &[RunState::Succeeded]),
    ("failed", "Failed", &[RunState::Failed, RunState::TimedOut]),
    ("cancelled", "Cancelled", &[RunState::Cancelled]),
];

/// The states that the address names; tracked.
fn states(address: Address) -> &'static [RunState] {
    let name = address.query("state");
    let found = FILTERS.into_iter().find(|(known, ..)| *known == name);
    found.map_or(&[], |(.., states)| states)
}

/// The tab with the durations and the runs.
pub(in crate::pages) fn tab(id: StoredValue<String>, load: Load<ScheduleDetail>) -> AnyView {
    let id = id.get_value();
    view! {
        {durations(id.clone(), load)}
        <Runs schedule=id changed=load.loading/>
    }
    .into_any()
}

/// The table, live. A change of a run also reloads `changed`, the rest of the page.
#[component]
fn Runs(schedule: String, changed: Loading) -> impl IntoView {
    let address = use_address();
    let id = schedule.clone();
    let runs = use_listing(SIZE, move || {
        let query = RunQuery {
            namespace: address.namespace(),
            schedule: Some(id.clone()),
            states: states(address).to_vec(),
            sort: order(&address.query("sort")),
            place: place(address),
            ..RunQuery::default()
        };
        api::runs(query, SIZE)
    });
    let settled = Throttle::new(SETTLED_MS);
    use_feed(
        move || Feed::runs(address.namespace(), Some(schedule.clone()), None),
        move |events| {
            let (states, is_first, is_sorted) = untrack(|| {
                let is_sorted = order(&address.query("sort")).is_some();
                (states(address), place(address) == Place::First, is_sorted)
            });
            let has_settled = events.iter().any(|event| !event.run.state.is_live());
            let rows = events.into_iter().map(|event| event.run).collect();
            runs.merge(rows, is_first && !is_sorted, |run: &RunRow| {
                states.is_empty() || states.contains(&run.state)
            });
            if is_sorted {
                // Only the server knows the place of a new run.
                runs.load.loading.refresh();
            } else if has_settled {
                // An event does not say how an attempt ended.
                settled.run(move || runs.load.loading.refresh());
            }
            changed.refresh();
        },
        move || runs.load.loading.reload(),
    );
    let actions = use_run_actions(runs.load.loading);
    let table = move || {
        let columns = run_columns(false, untrack(|| address.is_across()));
        Table::new("Run history", runs.list, columns, run_name)
            .choose_columns(kept(address, "columns"))
            .sort(kept(address, "sort"))
            .actions(move |run: &RunRow| actions.buttons(run))
            .view()
    };
    let choices = FILTERS.map(|(name, words, _)| (name, words));
    view! {
        {filter_links(address, "Runs by state", "state", choices)}
        <AsyncView
            loading=runs.load.loading
            what="runs"
            is_empty=Signal::derive(move || runs.list.is_empty())
            empty=move || if states(address).is_empty() {
                empty("Not run yet", "Runs appear here automatically.", ())
            } else {
                empty("No runs here", "No run of this schedule is in this state.", ())
            }
        >
            {table()}
            {pager(runs.beside(), "runs", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        {actions.dialog()}
    }
}
