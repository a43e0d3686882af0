//! The schedule's runs, whatever triggered them.

use leptos::prelude::*;

use crate::{
    api::{self, RunQuery},
    components::{AsyncView, pager, run_table},
    data::{Feed, Loading, use_feed, use_listing},
    model::Place,
    state::use_address,
};

const SIZE: usize = 15;

/// The table, live. A run that changes also reloads `changed`, the rest of the page.
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
            {run_table(runs.list, "Run history", false)}
            {pager(runs.beside(), "runs", move |to| place.set(to))}
        </AsyncView>
    }
}
