//! All runs, newest first, live. A state, a search and a range of time in the address filter them. They are cancelled
//! and run again one by one, or many at once.
//!
//! - `query`: the filters and the order of the list

mod query;

use std::time::Duration;

use leptos::prelude::*;

pub(super) use self::query::order;
use self::query::{StateFilter, chosen};
use super::{
    bulk::{self, BulkBar, Subjects},
    cursors,
    filters::{Filters, use_filters},
    kept, place,
    run_actions::use_run_actions,
};
use crate::{
    api::{self, RunQuery},
    components::{AsyncView, Selection, Table, live, pager, run_columns, run_name},
    data::{Feed, Listing, use_feed, use_listing},
    model::{Place, RunRow},
    route::Route,
    state::{Range, Throttle, use_every, use_range, use_session, use_title},
};

const SIZE: usize = 50;
const NAMES: [&str; 4] = ["state", "q", "sort", "columns"];
/// How often a searched or sorted list is reloaded, because only the server knows its rows and their order.
const LOOK: Duration = Duration::from_secs(10);
/// How often the list is reloaded at most because runs have settled.
const SETTLED_MS: i64 = 5_000;

/// The runs list.
#[component]
pub(crate) fn Runs() -> impl IntoView {
    use_title(|| "Runs".to_owned());
    let filters = use_filters(Route::Runs, &NAMES);
    let range = use_range(&Route::Runs);
    let address = filters.address();
    let runs = use_runs(filters, range);
    use_updates(runs, filters, range);
    let (selection, actions) = (Selection::new(), use_run_actions(runs.load.loading));
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        address.go(&untrack(|| filters.href(&[after, before])));
    };
    let table = move || {
        let is_across = untrack(|| address.is_across());
        let table = Table::new("Runs", runs.list, run_columns(true, is_across), run_name);
        // A bulk action applies to one namespace.
        let table = if is_across { table } else { table.select(selection) };
        table
            .choose_columns(kept(address, "columns"))
            .sort(kept(address, "sort"))
            .actions(move |run: &RunRow| actions.buttons(run))
            .view()
    };
    view! {
        <header class="page-head">
            <h1>"Runs"</h1>
            <nav class="filters" aria-label="Runs by state">
                {Vec::from(query::FILTERS.map(|filter| state_link(filter, filters)))}
            </nav>
            <div class="actions">{query::order_picker(filters)}</div>
        </header>
        {query::bar(runs, filters)}
        {bulk_bar(runs, selection, filters, range)}
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
                } else if chosen(filters).name.is_empty() {
                    "A run appears as soon as a schedule fires or someone presses Run now."
                } else {
                    "No run is in this state. Runs appear here as soon as one is."
                }}</p>
            }
        >
            {table()}
            {pager(runs.beside(), "runs", go)}
        </AsyncView>
        {actions.dialog()}
    }
}

fn use_runs(filters: Filters, range: Range) -> Listing<RunRow> {
    let address = filters.address();
    use_listing(SIZE, move || {
        let (after, before) = range.bounds();
        let query = RunQuery {
            namespace: address.namespace(),
            search: filters.some("q"),
            states: chosen(filters).states.to_vec(),
            schedule: None,
            after,
            before,
            sort: order(&filters.get("sort")),
            place: place(address),
        };
        api::runs(query, SIZE)
    })
}

fn state_link(filter: StateFilter, filters: Filters) -> AnyView {
    let StateFilter { name, words, .. } = filter;
    let href = move || filters.href(&[("state", name)]);
    let is_chosen = move || (chosen(filters).name == name).then_some("true");
    view! { <a href=move || href() aria-current=move || is_chosen()>{words}</a> }.into_any()
}

/// The bulk actions on runs, for users who may operate the namespace. The list does not count its matches, which
/// would take too long among millions of runs; the dry run of an action counts them.
fn bulk_bar(
    runs: Listing<RunRow>,
    selection: Selection,
    filters: Filters,
    range: Range,
) -> AnyView {
    let (session, address) = (use_session(), filters.address());
    let subjects = Subjects {
        label: "Actions for the selected runs",
        kinds: bulk::Kind::OF_RUNS,
        selection,
        chosen: Signal::derive(move || bulk::by_id(&selection.ids())),
        search: Signal::derive(move || {
            let (after, before) = range.bounds();
            let [after, before] = [after, before].map(|at| at.map(|at| at.to_rfc3339()));
            query::whole_search(&filters.get("q"), chosen(filters), after, before)
        }),
        has_more: Signal::derive(move || {
            let beside = runs.load.with(|page| page.next.is_some() || page.previous.is_some());
            beside.unwrap_or_default() || runs.list.ids().len() > selection.count()
        }),
        total: Signal::derive(|| None),
        list: runs.load.loading,
    };
    live(move || match session.operates() && !address.is_across() {
        true => view! { <BulkBar subjects=subjects/> }.into_any(),
        false => ().into_any(),
    })
}

/// Merges the runs that events report into the list. A searched or sorted list is reloaded instead. Events do not say
/// how an attempt ended, so the list is also reloaded after runs have settled.
fn use_updates(runs: Listing<RunRow>, filters: Filters, range: Range) {
    let address = filters.address();
    let settled = Throttle::new(SETTLED_MS);
    let is_plain = move || filters.some("q").is_none() && order(&filters.get("sort")).is_none();
    use_feed(
        move || Feed::runs(address.namespace(), None, None),
        move |events| {
            let (is_top, states, (after, before)) = untrack(|| {
                let is_top = place(address) == Place::First && is_plain();
                (is_top, chosen(filters).states, range.bounds())
            });
            let has_settled = events.iter().any(|event| !event.run.state.is_live());
            let changed = events.into_iter().map(|event| event.run).collect();
            runs.merge(changed, is_top, |run| {
                (states.is_empty() || states.contains(&run.state))
                    && after.is_none_or(|after| run.scheduled_at >= after)
                    && before.is_none_or(|before| run.scheduled_at < before)
            });
            if has_settled {
                settled.run(move || runs.load.loading.refresh());
            }
        },
        move || runs.load.loading.reload(),
    );
    use_every(LOOK, move || {
        if !untrack(is_plain) {
            runs.load.loading.refresh();
        }
    });
}
