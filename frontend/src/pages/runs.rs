//! All runs, newest first, live; narrowed by state in the address.

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_query_map},
};

use crate::{
    api::{self, Place, RunQuery, use_load, use_run_feed},
    components::{AsyncView, Pager, RunTable},
    model::RunState,
    route::Route,
    state::{Rows, use_title},
};

const SIZE: i64 = 50;

/// The filter's choices: its name in the address, its words, its states.
const FILTERS: [(&str, &str, &[RunState]); 5] = [
    ("", "All", &[]),
    ("live", "Live", &[RunState::Queued, RunState::Running, RunState::Retrying]),
    ("succeeded", "Succeeded", &[RunState::Succeeded]),
    ("failed", "Failed", &[RunState::Failed, RunState::TimedOut]),
    ("cancelled", "Cancelled", &[RunState::Cancelled]),
];

/// The runs list.
#[component]
pub(crate) fn Runs() -> impl IntoView {
    use_title(|| "Runs".to_owned());
    let address = use_query_map();
    let filter = Memo::new(move |_| {
        let name = address.with(|query| query.get("state")).unwrap_or_default();
        FILTERS.into_iter().find(|(known, ..)| *known == name).map_or("", |(known, ..)| known)
    });
    let states = move || {
        let name = filter.get();
        FILTERS.into_iter().find(|(known, ..)| *known == name).map_or(&[][..], |(.., s)| s)
    };
    let place = Memo::new(move |_| {
        address.with(|query| match (query.get("after"), query.get("before")) {
            (Some(cursor), _) => Place::After(cursor),
            (None, Some(cursor)) => Place::Before(cursor),
            (None, None) => Place::First,
        })
    });
    let load = use_load(move || {
        let query = RunQuery { states: states().to_vec(), schedule: None, place: place.get() };
        Some(api::runs(query, SIZE))
    });
    let rows = Rows::new();
    Effect::new(move |_| {
        if let Some(page) = load.data.get() {
            rows.set(page.rows);
        }
    });
    use_run_feed(
        None,
        None,
        move |events| {
            let is_top = untrack(|| place.get()) == Place::First;
            let states = untrack(states);
            let known = untrack(|| rows.ids());
            rows.merge(events, SIZE as usize, |run| {
                let fits = states.is_empty() || states.contains(&run.state);
                fits && (is_top || known.contains(&run.id))
            });
        },
        move || load.reload(),
    );
    let navigate = use_navigate();
    let go = StoredValue::new(move |place: Place| {
        let mut query = vec![("state", filter.get_untracked().to_owned())];
        match place {
            Place::First => {}
            Place::After(cursor) => query.push(("after", cursor)),
            Place::Before(cursor) => query.push(("before", cursor)),
        }
        navigate(&super::with_query(Route::Runs, &query), NavigateOptions::default());
    });
    view! {
        <header class="page-head">
            <h1>"Runs"</h1>
            <nav class="filters" aria-label="Runs by state">
                {FILTERS.map(|(name, words, _)| view! {
                    <a
                        href=super::with_query(Route::Runs, &[("state", name.to_owned())])
                        aria-current=move || (filter.get() == name).then_some("true")
                    >{words}</a>
                })}
            </nav>
        </header>
        <AsyncView
            load=load
            what="runs"
            is_empty=Signal::derive(move || rows.is_empty())
            empty=move || view! {
                <p class="empty-title">"No runs here"</p>
                <p>{move || if filter.get().is_empty() {
                    "A run appears as soon as a schedule fires or someone presses Run now."
                } else {
                    "No run is in this state. It appears here the moment one is."
                }}</p>
            }
            let:page
        >
            <RunTable rows=rows caption="Runs"/>
            <Pager
                what="runs"
                previous=Signal::derive(move || page.with(|page| page.previous.clone()))
                next=Signal::derive(move || page.with(|page| page.next.clone()))
                go=move |place| go.with_value(|go| go(place))
            />
        </AsyncView>
    }
}
