//! Upcoming fires: a week by the hour, an hour by the minute with its collisions, and how the year's clock changes
//! affect which schedules.
//!
//! - `heat`: the week
//! - `minutes`: one hour of it
//! - `clocks`: the clock changes

mod clocks;
mod heat;
mod minutes;

use std::time::Duration;

use leptos::prelude::*;

use super::kit::{self, empty};
use crate::{
    api,
    components::{AsyncView, Tab, live, panel},
    data::use_load,
    model::{Forecast, ForecastHour},
    route::Route,
    state::{use_address, use_every, use_title},
    time::Moment,
};

const LOOK: Duration = Duration::from_secs(60);
const WEEK_HOURS: i64 = 168;
const TABS: &[Tab] =
    &[Tab { name: "", words: "Load" }, Tab { name: "clocks", words: "Clock changes" }];

/// The page.
#[component]
pub(crate) fn Upcoming() -> impl IntoView {
    use_title(|| "Upcoming".to_owned());
    let address = use_address();
    let tab = Memo::new(move |_| address.query("tab"));
    view! {
        <header class="page-head">
            <h1>"Upcoming"</h1>
            <p class="actions"><a class="button" href=Route::Feeds.path()>"Calendar feed"</a></p>
        </header>
        {kit::tabs("Upcoming", TABS)}
        {live(move || match tab.get().as_str() {
            "clocks" => view! { <clocks::Clocks/> }.into_any(),
            _ => view! { <Load/> }.into_any(),
        })}
    }
}

/// The week, and the selected hour.
#[component]
fn Load() -> impl IntoView {
    let address = use_address();
    let week =
        use_load(move || Some(api::planning::upcoming(address.namespace(), None, WEEK_HOURS)));
    let loading = week.loading;
    use_every(LOOK, move || loading.refresh());
    let chosen = RwSignal::new(None::<Moment>);
    // Until an hour is chosen, the busiest one is shown: that is where schedules collide.
    let shown = Memo::new(move |_| {
        let busiest = |week: &Forecast| {
            let later =
                |a: &&ForecastHour, b: &&ForecastHour| a.fires.cmp(&b.fires).then(b.at.cmp(&a.at));
            week.hours.iter().max_by(later).map(|hour| hour.at)
        };
        chosen.get().or_else(|| week.with(busiest).flatten())
    });
    let is_empty = Signal::derive(move || {
        week.with(|week| week.hours.iter().all(|hour| hour.fires == 0)).unwrap_or_default()
    });
    view! {
        <AsyncView
            loading=loading
            what="what is to come"
            is_empty=is_empty
            empty=|| empty("Nothing starts in the next 7 days", "Schedules that are paused or finished do not count.")
        >
            <div class="stack">
                {panel("Starts in the next 7 days", (), week.draw(move |week| heat::heat(week, chosen)))}
                {live(move || match shown.get() {
                    Some(at) => view! { <minutes::Minutes at=at/> }.into_any(),
                    None => ().into_any(),
                })}
                {week.draw(cut)}
            </div>
        </AsyncView>
    }
}

fn cut(week: &Forecast) -> AnyView {
    if week.is_complete {
        return ().into_any();
    }
    view! { <p class="muted">"Not all fires were counted: the schedules that are due last are left out."</p> }.into_any()
}
