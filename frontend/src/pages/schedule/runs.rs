//! The schedule's runs, whatever triggered them.

use leptos::prelude::*;

use crate::{
    api::{self, RunQuery},
    components::{AsyncView, Table, pager, run_columns, run_name},
    data::{Feed, Loading, use_feed, use_listing},
    model::{Place, RunRow},
    pages::run_actions::use_run_actions,
    state::use_address,
};

const SIZE: usize = 15;

/// The table, live. A change of a run also reloads `changed`, the rest of the page.
#[component]
pub(super) fn Runs(schedule: String, changed: Loading) -> impl IntoView {
    let address = use_address();
    let place = RwSignal::new(Place::First);
    let id = schedule.clone();
    let runs = use_listing(SIZE, move || {
        let query = RunQuery {
            namespace: address.namespace(),
            schedule: Some(id.clone()),
            place: place.get(),
            ..RunQuery::default()
        };
        api::runs(query, SIZE)
    });
    use_feed(
        move || Feed::runs(address.namespace(), Some(schedule.clone()), None),
        move |events| {
            let is_top = place.get_untracked() == Place::First;
            runs.merge(events.into_iter().map(|event| event.run).collect(), is_top, |_| true);
            changed.refresh();
        },
        move || runs.load.loading.reload(),
    );
    let actions = use_run_actions(runs.load.loading);
    let table = move || {
        let columns = run_columns(false, untrack(|| address.is_across()));
        Table::new("Run history", runs.list, columns, run_name)
            .actions(move |run: &RunRow| actions.buttons(run))
            .view()
    };
    view! {
        <AsyncView
            loading=runs.load.loading
            what="runs"
            is_empty=Signal::derive(move || runs.list.is_empty())
            empty=|| view! {
                <p class="empty-title">"Not run yet"</p>
                <p>"Runs appear here automatically."</p>
            }
        >
            {table()}
            {pager(runs.beside(), "runs", move |to| place.set(to))}
        </AsyncView>
        {actions.dialog()}
    }
}
