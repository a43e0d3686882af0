//! All runs, newest first, live; narrowed by state and by a search in the address.

use std::time::Duration;

use leptos::prelude::*;

use super::{cursors, place};
use crate::{
    api::{self, RunQuery},
    components::{AsyncView, SearchLine, pager, run_table},
    data::{Feed, use_feed, use_listing},
    model::{Place, RunState},
    route::Route,
    state::{Address, use_address, use_every, use_title},
};

const SIZE: usize = 50;
/// How often a search looks for what is new: whether a run is sought is the server's to say.
const LOOK: Duration = Duration::from_secs(10);

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
        let search = Some(address.query("q")).filter(|text| !text.is_empty());
        api::runs(
            RunQuery {
                namespace: address.namespace(),
                search,
                states,
                schedule: None,
                place: place(address),
            },
            SIZE,
        )
    });
    use_feed(
        move || Feed::runs(address.namespace(), None, None),
        move |events| {
            let (is_top, states) = untrack(|| {
                let is_top = place(address) == Place::First && address.query("q").is_empty();
                (is_top, filter(address).1)
            });
            let changed = events.into_iter().map(|event| event.run).collect();
            runs.merge(changed, is_top, |run| states.is_empty() || states.contains(&run.state));
        },
        move || runs.load.loading.reload(),
    );
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        let (state, text) = untrack(|| (filter(address).0, address.query("q")));
        address.go(&Route::Runs.narrowed(&[("state", state), ("q", &text), after, before]));
    };
    let search = Callback::new(move |text: String| {
        let state = untrack(|| filter(address).0);
        address.replace(&Route::Runs.narrowed(&[("state", state), ("q", &text)]));
    });
    use_every(LOOK, move || {
        if untrack(|| !address.query("q").is_empty()) {
            runs.load.loading.refresh();
        }
    });
    let link = move |(name, words, _): (&'static str, &'static str, _)| {
        let href = move || Route::Runs.narrowed(&[("state", name), ("q", &address.query("q"))]);
        let is_chosen = move || (filter(address).0 == name).then_some("true");
        view! { <a href=move || href() aria-current=move || is_chosen()>{words}</a> }.into_any()
    };
    view! {
        <header class="page-head">
            <h1>"Runs"</h1>
            <nav class="filters" aria-label="Runs by state">{Vec::from(FILTERS.map(link))}</nav>
        </header>
        <search class="filter-line">
            <SearchLine
                label="Search runs"
                placeholder="report state:failed took:>5m -tag:test"
                value=Signal::derive(move || address.query("q"))
                loading=runs.load.loading
                search=search
            />
        </search>
        <AsyncView
            loading=runs.load.loading
            what="runs"
            is_empty=Signal::derive(move || runs.list.is_empty())
            empty=move || view! {
                <p class="empty-title">"No runs here"</p>
                <p>{if !address.query("q").is_empty() {
                    "No run fits the search."
                } else if filter(address).0.is_empty() {
                    "A run appears as soon as a schedule fires or someone presses Run now."
                } else {
                    "No run is in this state. It appears here the moment one is."
                }}</p>
            }
        >
            {run_table(runs.list, "Runs", true)}
            {pager(runs.beside(), "runs", go)}
        </AsyncView>
    }
}
