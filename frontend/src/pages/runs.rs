//! All runs, newest first, live; filtered by a state, a search and a range of time, all in the address.

use std::time::Duration;

use leptos::prelude::*;

use super::{
    cursors,
    filters::{Filters, use_filters},
    place,
};
use crate::{
    api::{self, RunQuery},
    components::{AsyncView, SearchLine, pager, run_table},
    data::{Feed, Listing, use_feed, use_listing},
    model::{Place, RunRow, RunSortField, RunState},
    route::Route,
    state::{Range, use_every, use_range, use_title},
};

const SIZE: usize = 50;
const NAMES: [&str; 3] = ["state", "q", "sort"];
/// How often a searched or sorted list is loaded again: only the server knows which runs are in it, and where.
const LOOK: Duration = Duration::from_secs(10);

/// The filter's choices: its name in the address, its words, its states.
const FILTERS: [(&str, &str, &[RunState]); 5] = [
    ("", "All", &[]),
    ("live", "Live", &[RunState::Queued, RunState::Running, RunState::Retrying]),
    ("succeeded", "Succeeded", &[RunState::Succeeded]),
    ("failed", "Failed", &[RunState::Failed, RunState::TimedOut]),
    ("cancelled", "Cancelled", &[RunState::Cancelled]),
];

/// An order of the list, with the server's sort if it is not the default.
struct Order {
    /// Its name in the address.
    name: &'static str,
    words: &'static str,
    /// The field to sort by, and whether descending.
    sort: Option<(RunSortField, bool)>,
}

const ORDERS: [Order; 4] = [
    Order { name: "", words: "Newest first", sort: None },
    Order { name: "longest", words: "Longest first", sort: Some((RunSortField::Duration, true)) },
    Order {
        name: "shortest",
        words: "Shortest first",
        sort: Some((RunSortField::Duration, false)),
    },
    Order {
        name: "started",
        words: "Last started first",
        sort: Some((RunSortField::Started, true)),
    },
];

/// The order that the address names; tracked.
fn order(filters: Filters) -> Option<(RunSortField, bool)> {
    let name = filters.get("sort");
    ORDERS.into_iter().find(|order| order.name == name).and_then(|order| order.sort)
}

/// The name and states of the filter that the address names; tracked.
fn filter(filters: Filters) -> (&'static str, &'static [RunState]) {
    let name = filters.get("state");
    let found = FILTERS.into_iter().find(|(known, ..)| *known == name);
    found.map_or(("", &[]), |(name, _, states)| (name, states))
}

/// The choice of an order. For an order by a figure, the server sorts the newest 10,000 matches.
fn order_picker(filters: Filters) -> AnyView {
    let choice = |Order { name, words, .. }: Order| {
        view! { <option value=name prop:selected=move || filters.get("sort") == name>{words}</option> }
            .into_any()
    };
    let choose = move |name: String| filters.set(&[("sort", &name)]);
    view! {
        <select aria-label="Order" on:change:target=move |event| choose(event.target().value())>
            {Vec::from(ORDERS.map(choice))}
        </select>
    }
    .into_any()
}

/// The runs list.
#[component]
pub(crate) fn Runs() -> impl IntoView {
    use_title(|| "Runs".to_owned());
    let filters = use_filters(Route::Runs, &NAMES);
    let range = use_range(&Route::Runs);
    let address = filters.address();
    let runs = use_listing(SIZE, move || {
        let (after, before) = range.bounds();
        api::runs(
            RunQuery {
                namespace: address.namespace(),
                search: filters.some("q"),
                states: filter(filters).1.to_vec(),
                schedule: None,
                after,
                before,
                sort: order(filters),
                place: place(address),
            },
            SIZE,
        )
    });
    use_updates(runs, filters, range);
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        address.go(&untrack(|| filters.href(&[after, before])));
    };
    let link = move |(name, words, _): (&'static str, &'static str, _)| {
        let href = move || filters.href(&[("state", name)]);
        let is_chosen = move || (filter(filters).0 == name).then_some("true");
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
                value=Signal::derive(move || filters.get("q"))
                loading=runs.load.loading
                search=Callback::new(move |text: String| filters.set(&[("q", &text)]))
            />
            {order_picker(filters)}
        </search>
        <AsyncView
            loading=runs.load.loading
            what="runs"
            is_empty=Signal::derive(move || runs.list.is_empty())
            empty=move || view! {
                <p class="empty-title">"No runs here"</p>
                <p>{if filters.some("q").is_some() {
                    "No run fits the search."
                } else if range.bounds() != (None, None) {
                    "No run was due in this range of time."
                } else if filter(filters).0.is_empty() {
                    "A run appears as soon as a schedule fires or someone presses Run now."
                } else {
                    "No run is in this state. Runs appear here as soon as one is."
                }}</p>
            }
        >
            {run_table(runs.list, "Runs", true)}
            {pager(runs.beside(), "runs", go)}
        </AsyncView>
    }
}

/// Merges the runs that events report into the list. A searched or sorted list is loaded again instead.
fn use_updates(runs: Listing<RunRow>, filters: Filters, range: Range) {
    let address = filters.address();
    use_feed(
        move || Feed::runs(address.namespace(), None, None),
        move |events| {
            let (is_top, states, (after, before)) = untrack(|| {
                let is_plain = filters.some("q").is_none() && order(filters).is_none();
                let is_top = place(address) == Place::First && is_plain;
                (is_top, filter(filters).1, range.bounds())
            });
            let changed = events.into_iter().map(|event| event.run).collect();
            runs.merge(changed, is_top, |run| {
                (states.is_empty() || states.contains(&run.state))
                    && after.is_none_or(|after| run.scheduled_at >= after)
                    && before.is_none_or(|before| run.scheduled_at < before)
            });
        },
        move || runs.load.loading.reload(),
    );
    use_every(LOOK, move || {
        if untrack(|| filters.some("q").is_some() || order(filters).is_some()) {
            runs.load.loading.refresh();
        }
    });
}
