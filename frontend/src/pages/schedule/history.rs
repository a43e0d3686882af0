//! The schedule's runs, by whatever started them.

use leptos::prelude::*;

use crate::{
    api::{self, Place, RunQuery, use_load, use_run_feed},
    components::{AsyncView, Pager, RunTable},
    state::Rows,
};

const SIZE: i64 = 15;

/// The table, live. `changed` hears of each batch of events.
#[component]
pub(super) fn History(
    schedule: String,
    changed: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let place = RwSignal::new(Place::First);
    let id = schedule.clone();
    let load = use_load(move || {
        let query = RunQuery { states: Vec::new(), schedule: Some(id.clone()), place: place.get() };
        Some(api::runs(query, SIZE))
    });
    let rows = Rows::new();
    Effect::new(move |_| {
        if let Some(page) = load.data.get() {
            rows.set(page.rows);
        }
    });
    use_run_feed(
        Some(schedule),
        None,
        move |events| {
            let is_top = place.get_untracked() == Place::First;
            let known = untrack(|| rows.ids());
            rows.merge(events, SIZE as usize, |run| is_top || known.contains(&run.id));
            changed();
        },
        move || load.reload(),
    );
    view! {
        <AsyncView
            load=load
            what="runs"
            is_empty=Signal::derive(move || rows.is_empty())
            empty=|| view! {
                <p class="empty-title">"Not run yet"</p>
                <p>"Runs appear here by themselves."</p>
            }
            let:page
        >
            <RunTable rows=rows caption="Run history" hides_schedule=true/>
            <Pager
                what="runs"
                previous=Signal::derive(move || page.with(|page| page.previous.clone()))
                next=Signal::derive(move || page.with(|page| page.next.clone()))
                go=move |to| place.set(to)
            />
        </AsyncView>
    }
}
