//! All jobs on one axis of time: a lane for each schedule that has something in the range, with its runs, its fires
//! without a run and its upcoming fires; above the lanes, how many runs were executed at once.
//!
//! - `window`: the stretch of time that is shown
//! - `lane`: a row of the table
//! - `bars`: what a lane shows, in words and links
//! - `load`: the chart of the runs at once

mod bars;
mod lane;
mod load;
mod window;

use std::time::Duration;

use leptos::prelude::*;

use self::window::Window;
use super::{
    cursors,
    filters::{Filters, use_filters},
    place,
    schedules::SEARCH_FIELDS,
    suggest,
    views::use_views,
};
use crate::{
    api::{self, planning::LaneQuery},
    components::{AsyncView, QueryBar, QueryView, Table, empty, pager, panel},
    data::{Feed, Listing, Load, use_feed, use_listing, use_load},
    model::{Lane, Place, RunsAtOnce, TimelineSort},
    route::Route,
    state::{Range, Throttle, use_address, use_every, use_hold, use_range, use_title},
    time::Moment,
};

/// The server's largest page.
const SIZE: usize = 50;
const NAMES: [&str; 2] = ["q", "sort"];
/// How often the page moves on with time.
const LOOK: Duration = Duration::from_secs(15);
/// How often the queries, which are expensive for the server, are repeated while runs start and end.
const SLOW_MS: i64 = 5_000;
/// The orders, with words.
const ORDERS: [(&str, &str); 2] = [("", "By name"), ("busiest", "Busiest first")];
/// Views that every user has.
const VIEWS: [QueryView; 3] = [
    ("Failing", "state:failed,timed_out"),
    ("Losing runs", "lost:<1d"),
    ("Skipping fires", "skipped:<1d"),
];

/// The timeline.
#[component]
pub(crate) fn Timeline() -> impl IntoView {
    use_title(|| "Timeline".to_owned());
    let filters = use_filters(Route::Timeline, &NAMES);
    let range = use_range(&Route::Timeline);
    let address = filters.address();
    let tick = RwSignal::new(Moment::now());
    let window = Memo::new(move |_| {
        let now = tick.get().max(Moment::now());
        Window::of(range.bounds(), now)
    });
    let lanes = use_lanes(filters, window);
    let at_once = use_load(move || {
        let (namespace, search) = (address.namespace(), filters.some("q"));
        let Window { from, to } = window.get();
        Some(api::planning::runs_at_once(namespace, search, from, to))
    });
    use_updates(lanes, at_once, range, tick);
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        address.go(&untrack(|| filters.href(&[after, before])));
    };
    let nothing = move || {
        let words = if filters.some("q").is_some() {
            "No schedule that fits the search has a run or is due in this range."
        } else {
            "No schedule has a run or is due in this range. Choose another one above."
        };
        empty("Nothing in this range", words, ())
    };
    view! {
        <header class="page-head">
            <h1>"Timeline"</h1>
            <div class="actions">{order_picker(filters)}</div>
        </header>
        {bar(lanes, filters)}
        {panel("Runs at once", view! { <span class="muted">"drag to zoom"</span> }, load::chart(at_once, window, range, filters))}
        <AsyncView
            loading=lanes.load.loading
            what="the timeline"
            is_empty=Signal::derive(move || lanes.list.is_empty())
            empty=nothing
        >
            {legend()}
            <div class="timeline">
                {Table::new("Timeline", lanes.list, lane::columns(window), lane::row_name).view()}
            </div>
            {pager(lanes.beside(), "schedules", go)}
        </AsyncView>
    }
}

fn use_lanes(filters: Filters, window: Memo<Window>) -> Listing<Lane> {
    let address = filters.address();
    use_listing(SIZE, move || {
        let (namespace, search) = (address.namespace(), filters.some("q"));
        let is_busiest = filters.get("sort") == "busiest";
        let sort = if is_busiest { TimelineSort::Busiest } else { TimelineSort::Name };
        let place = place(address);
        let Window { from, to } = window.get();
        let query = LaneQuery { namespace, search, from, to, sort, place };
        api::planning::lanes(query, SIZE)
    })
}

/// Loads the lanes again when runs change, and moves on with time, unless lists are held.
fn use_updates(
    lanes: Listing<Lane>,
    at_once: Load<RunsAtOnce>,
    range: Range,
    tick: RwSignal<Moment>,
) {
    let (address, hold, slow) = (use_address(), use_hold(), Throttle::new(SLOW_MS));
    let refresh = move || {
        lanes.load.loading.refresh();
        at_once.loading.refresh();
    };
    use_feed(
        move || Feed::runs(address.namespace(), None, None),
        move |_| slow.run(refresh),
        refresh,
    );
    use_every(LOOK, move || {
        // A range that ends now moves, which loads it again.
        let is_moving = untrack(|| range.preset().is_some() && !hold.is_held());
        if is_moving { tick.set(Moment::now()) } else { refresh() }
    });
}

/// The choice of an order.
fn order_picker(filters: Filters) -> AnyView {
    let choice = |(name, words): (&'static str, &'static str)| {
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

/// The query bar, which selects schedules.
fn bar(lanes: Listing<Lane>, filters: Filters) -> AnyView {
    let search = Callback::new(move |text: String| filters.set(&[("q", &text)]));
    let value = Memo::new(move |_| filters.get("q"));
    let tags = suggest::tags_in(value.into());
    let calendars = suggest::calendars_in(value.into());
    view! {
        <QueryBar
            label="Search schedules"
            placeholder="report tag:billing state:failed"
            value=value
            loading=lanes.load.loading
            search=search
            fields=&SEARCH_FIELDS
            views=&VIEWS
            own=use_views("schedules")
            known=Signal::derive(move || vec![("tag", tags.get()), ("calendar", calendars.get())])
        />
    }
    .into_any()
}

/// What the shapes mean. The bars say it, too.
fn legend() -> AnyView {
    let key = |(kind, state, words): (&'static str, &'static str, &'static str)| {
        view! { <li><span class="lane-key" data-kind=kind data-state=state></span>{words}</li> }
            .into_any()
    };
    let keys = [
        ("run", "succeeded", "Succeeded"),
        ("run", "running", "Running"),
        ("run", "failed", "Failed"),
        ("mark", "missed", "No run"),
        ("plan", "pending", "Due"),
        ("overlap", "", "Overlap"),
    ];
    view! { <ul class="lane-legend" aria-hidden="true">{Vec::from(keys.map(key))}</ul> }.into_any()
}
