//! All runs, newest first, live; narrowed by state in the address.

use leptos::prelude::*;

use super::{cursors, place};
use crate::{
    api::{self, Feed, Place, RunQuery, use_feed, use_listing},
    components::{AsyncView, pager, run_table},
    model::RunState,
    route::Route,
    state::{Address, use_address, use_title},
};

const SIZE: usize = 50;

/// The filter's choices: its name in the address, its words, its states.
const FILTERS: [(&str, &str, &[RunState]); 5] = [
    ("", "All", &[]),
    ("live", "Live", &[RunState::Queued, RunState::Running, RunState::Retrying]),
    ("succeeded", "Succeeded", &[RunState::Succeeded]),
    ("failed", "Failed", &[RunState::Failed, RunState::TimedOut]),
    ("cancelled", "Cancelled", &[RunState::Cancelled]),
];

/// The name and states of the filter that the address asks for; tracked.
fn filter(address: Address) -> (&'static str, &'static [RunState]) {
    let name = address.query("state");
    let found = FILTERS.into_iter().find(|(known, ..)| *known == name);
    found.map_or(("", &[]), |(name, _, states)| (name, states))
}

/// The runs list.
#[component]
pub(crate) fn Runs() -> impl IntoView {
    use_title(|| "Runs".to_owned());
    let address = use_address();
    let runs = use_listing(SIZE, move || {
        let states = filter(address).1.to_vec();
        api::runs(RunQuery { states, schedule: None, place: place(address) }, SIZE)
    });
    use_feed(
        Feed::runs(None, None),
        move |events| {
            let (is_top, states) = untrack(|| (place(address) == Place::First, filter(address).1));
            let changed = events.into_iter().map(|event| event.run).collect();
            runs.merge(changed, is_top, |run| states.is_empty() || states.contains(&run.state));
        },
        move || runs.load.loading.reload(),
    );
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        let state = untrack(|| filter(address).0);
        address.go(&Route::Runs.narrowed(&[("state", state), after, before]));
    };
    let link = move |(name, words, _): (&'static str, &'static str, _)| {
        let href = Route::Runs.narrowed(&[("state", name)]);
        let is_chosen = move || (filter(address).0 == name).then_some("true");
        view! { <a href=href aria-current=move || is_chosen()>{words}</a> }.into_any()
    };
    view! {
        <header class="page-head">
            <h1>"Runs"</h1>
            <nav class="filters" aria-label="Runs by state">{Vec::from(FILTERS.map(link))}</nav>
        </header>
        <AsyncView
            loading=runs.load.loading
            what="runs"
            is_empty=Signal::derive(move || runs.list.is_empty())
            empty=move || view! {
                <p class="empty-title">"No runs here"</p>
                <p>{if filter(address).0.is_empty() {
                    "A run appears as soon as a schedule fires or someone presses Run now."
                } else {
                    "No run is in this state. It appears here the moment one is."
                }}</p>
            }
        >
            {run_table(runs.list, "Runs", true)}
            {pager(runs, "runs", go)}
        </AsyncView>
    }
}
