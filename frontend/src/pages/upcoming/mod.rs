//! Upcoming fires: a week by the hour, an hour by the minute with its collisions, and the effects of the year's clock
//! changes. Frequent schedules start equally often in each hour and would hide the busy hours, so they are left out
//! until the address asks for them.
//!
//! - `heat`: the week
//! - `minutes`: one hour of the week
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
    data::{self, use_load},
    model::{Forecast, ForecastHour},
    route::Route,
    state::{use_address, use_every, use_title},
    time::{Moment, grouped},
};

const LOOK: Duration = Duration::from_secs(60);
const WEEK_HOURS: i64 = 168;
const TABS: &[Tab] =
    &[Tab { name: "", words: "Load" }, Tab { name: "clocks", words: "Clock changes" }];

/// The page of the upcoming fires.
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
    let week = use_load(move || {
        Some(api::planning::upcoming(address.namespace(), None, WEEK_HOURS, true))
    });
    let loading = week.loading;
    use_every(LOOK, move || loading.refresh());
    let chosen = RwSignal::new(None::<Moment>);
    // If only frequent schedules start, they are counted.
    let frequent = Memo::new(move |_| {
        let can_do_without = week.with(Forecast::has_frequent_and_others).unwrap_or_default();
        !can_do_without || address.query("frequent") == "yes"
    });
    // If a link names a minute, its hour is shown from that minute on, until the user selects another hour. Without
    // either, the busiest hour is shown, because that is where schedules collide.
    let minute = Memo::new(move |_| {
        chosen.get().is_none().then(|| Moment::parse_local(&address.query("at"))).flatten()
    });
    let shown = Memo::new(move |_| {
        let busiest = |week: &Forecast| busiest(&week.counted(frequent.get()));
        chosen.get().or_else(|| minute.get()).or_else(|| week.with(busiest).flatten())
    });
    let heat = move || {
        let cells = week.draw(move |week| heat::heat(&week.counted(frequent.get()), chosen));
        view! { {cells}{frequent_choice(week, frequent)} }.into_any()
    };
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
                {panel("Starts in the next 7 days", (), heat())}
                {live(move || match shown.get() {
                    Some(at) => view! { <minutes::Minutes at=at minute=minute.get() frequent=frequent.get()/> }.into_any(),
                    None => ().into_any(),
                })}
                {week.draw(cut)}
            </div>
        </AsyncView>
    }
}

/// The hour with the most starts; the first one if there are several.
fn busiest(hours: &[ForecastHour]) -> Option<Moment> {
    let later = |a: &&ForecastHour, b: &&ForecastHour| a.fires.cmp(&b.fires).then(b.at.cmp(&a.at));
    hours.iter().max_by(later).map(|hour| hour.at)
}

/// Says whether frequent schedules are counted, with a button that changes that; empty if there is no choice.
fn frequent_choice(week: data::Load<Forecast>, frequent: Memo<bool>) -> AnyView {
    let address = use_address();
    let has_choice =
        Memo::new(move |_| week.with(Forecast::has_frequent_and_others).unwrap_or_default());
    let words = move || {
        let with = frequent.get();
        week.with(|week| frequent_words(week.frequent_schedules, week.frequent_fires(), with))
    };
    let flip = move |_| {
        let next = if frequent.get_untracked() { "" } else { "yes" };
        address.replace(&address.with(&[("frequent", next)]));
    };
    live(move || {
        if !has_choice.get() {
            return ().into_any();
        }
        view! {
            <p class="hint" data-testid="frequent">
                {move || words()}" "
                <button
                    type="button"
                    class="query-view"
                    aria-pressed=move || (!frequent.get()).to_string()
                    on:click=flip
                >
                    "Without frequent ones"
                </button>
            </p>
        }
        .into_any()
    })
}

fn frequent_words(schedules: i64, fires: i64, with: bool) -> String {
    let begin = if with { "With" } else { "Without" };
    let which = match schedules {
        1 => "1 schedule that starts each minute or more often".to_owned(),
        many => format!("{} schedules that start each minute or more often", grouped(many)),
    };
    format!("{begin} {which}: {} starts an hour.", grouped(fires))
}

fn cut(week: &Forecast) -> AnyView {
    if week.is_complete {
        return ().into_any();
    }
    view! { <p class="muted">"Not all fires were counted: the schedules that are due last are left out."</p> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_hour_is_the_first_of_those_with_most_starts() {
        let hour = |at: i64, fires: i64| ForecastHour {
            at: Moment::from_millis(at),
            fires,
            schedules: 1,
            frequent_fires: 0,
            frequent_schedules: 0,
        };
        let found = busiest(&[hour(1, 2), hour(2, 9), hour(3, 9)]);
        assert_eq!(found, Some(Moment::from_millis(2)));
        assert_eq!(busiest(&[]), None);
    }

    #[test]
    fn what_is_left_out_is_said_in_words() {
        assert_eq!(
            frequent_words(1, 60, false),
            "Without 1 schedule that starts each minute or more often: 60 starts an hour."
        );
        assert_eq!(
            frequent_words(2, 120, true),
            "With 2 schedules that start each minute or more often: 120 starts an hour."
        );
    }
}
