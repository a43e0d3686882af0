//! Upcoming fires: a day or a week by the hour, or five weeks by the day; an hour by the minute with its collisions;
//! what suppresses fires; and how the year's clock changes affect which schedules. Schedules that start as often in
//! each hour would hide the busy hours, so they are left out until the address asks for them.
//!
//! - `day`, `heat`, `month`: the day, the week, the five weeks
//! - `minutes`: one hour
//! - `bands`: calendars, maintenance and pauses, by the day
//! - `cover`: how much of a day each suppresses (pure)
//! - `clocks`: the clock changes

mod bands;
mod clocks;
mod cover;
mod day;
mod heat;
mod minutes;
mod month;

use std::time::Duration;

use leptos::prelude::*;

use self::{bands::Bands, heat::Measure};
use super::kit::{self, empty};
use crate::{
    api,
    components::{AsyncView, Tab, Waiting, live, panel},
    data::{self, use_load},
    model::{Forecast, ForecastHour},
    route::Route,
    state::{use_address, use_every, use_title, use_zone},
    time::{Day, Moment, Wall, grouped, zone_of_hours},
};

const LOOK: Duration = Duration::from_secs(60);
const HOUR_MS: i64 = 3_600_000;
const WEEK_HOURS: i64 = 168;
/// A week that begins within a day ends within another.
const WEEK_DAYS: i64 = 8;
/// The spans of time, by their names in the address.
const SPANS: [(&str, &str); 3] = [("day", "Day"), ("", "Week"), ("month", "Month")];
const TABS: &[Tab] =
    &[Tab { name: "", words: "Load" }, Tab { name: "clocks", words: "Clock changes" }];

/// The page of the upcoming fires.
#[component]
pub(crate) fn Upcoming() -> impl IntoView {
    use_title(|| "Upcoming".to_owned());
    let address = use_address();
    let tab = Memo::new(move |_| address.query("tab"));
    let span = Memo::new(move |_| address.query("view"));
    view! {
        <header class="page-head">
            <h1>"Upcoming"</h1>
            <p class="actions">
                <a class="button" href=timeline()>"Timeline"</a>
                <a class="button" href=Route::Feeds.path()>"Calendar feed"</a>
            </p>
        </header>
        {kit::tabs("Upcoming", TABS)}
        {live(move || match (tab.get().as_str(), span.get().as_str()) {
            ("clocks", _) => view! { <clocks::Clocks/> }.into_any(),
            (_, "day") => view! { {spans()}<day::OneDay/> }.into_any(),
            (_, "month") => view! { {spans()}<month::Month/> }.into_any(),
            _ => view! { {spans()}<Load/> }.into_any(),
        })}
    }
}

/// The address of the timeline of the next 24 hours.
fn timeline() -> String {
    let now = Moment::now();
    let (from, until) = (now.to_rfc3339(), now.later(24 * HOUR_MS).to_rfc3339());
    Route::Timeline.narrowed(&[("from", &from), ("until", &until)])
}

/// The choice of the span.
fn spans() -> AnyView {
    let address = use_address();
    let link = |(name, words): (&'static str, &'static str)| {
        let href = move || address.href(&[("view", name), ("day", ""), ("at", ""), ("hour", "")]);
        let is_chosen = move || (address.query("view") == name).then_some("true");
        view! { <a href=move || href() aria-current=move || is_chosen()>{words}</a> }.into_any()
    };
    view! { <nav class="filters spans" aria-label="Span of time">{Vec::from(SPANS.map(link))}</nav> }
        .into_any()
}

/// The state of several requests whose answers are shown together.
fn together(parts: Vec<data::Loading>) -> Waiting {
    let (data, failures, retries) = (parts.clone(), parts.clone(), parts);
    Waiting {
        has_data: Signal::derive(move || data.iter().all(|part| part.has_data())),
        failure: Signal::derive(move || failures.iter().find_map(|part| part.failure())),
        retry: Callback::new(move |()| retries.iter().for_each(|part| part.reload())),
    }
}

/// The current day of a zone.
fn today(zone: &str) -> Day {
    let wall = Wall::read(Moment::now(), zone).or_else(|| Wall::read(Moment::now(), "UTC"));
    wall.and_then(|wall| Day::parse(&wall.date)).unwrap_or(Day::new(1970, 1, 1))
}

/// The zone by whose hours a forecast is counted that begins now or at a later instant.
fn counted_by(zone: &str, from: Option<Moment>, hours: i64) -> Option<String> {
    let from = from.unwrap_or_else(Moment::now);
    zone_of_hours(zone, from, from.later(hours * HOUR_MS))
}

/// The view of a span in which nothing starts.
fn nothing(title: &'static str) -> AnyView {
    empty(title, "Schedules that are paused or finished do not count.")
}

/// Whether frequent schedules are counted. Without anything else, they are what is to come.
fn use_frequent(forecast: data::Load<Forecast>) -> Memo<bool> {
    let address = use_address();
    Memo::new(move |_| {
        let can_do_without = forecast.with(Forecast::has_frequent_and_others).unwrap_or_default();
        !can_do_without || address.query("frequent") == "yes"
    })
}

/// The week, and the selected hour.
#[component]
fn Load() -> impl IntoView {
    let (address, clock) = (use_address(), use_zone());
    let zone = Memo::new(move |_| clock.get().zone(None));
    let week = use_load(move || {
        let by = zone.with(|zone| counted_by(zone, None, WEEK_HOURS));
        Some(api::planning::upcoming(address.namespace(), None, WEEK_HOURS, true, by))
    });
    let loading = week.loading;
    use_every(LOOK, move || loading.refresh());
    let in_address = Memo::new(move |_| named_hour(&address.query("hour")));
    let chosen = RwSignal::new(in_address.get_untracked());
    Effect::new(move |before: Option<()>| {
        let hour = chosen.get().map(|at| at.to_rfc3339()).unwrap_or_default();
        if before.is_some() {
            address.replace(&address.with(&[("hour", &hour)]));
        }
    });
    // A link such as "Week", and the browser's way back, change the address alone.
    Effect::new(move |before: Option<()>| {
        let named = in_address.get();
        if before.is_some() && chosen.get_untracked() != named {
            chosen.set(named);
        }
    });
    let frequent = use_frequent(week);
    let measure = Memo::new(move |_| Measure::of(&address.query("measure")));
    let work = use_load(move || {
        let is_shown = measure.get() == Measure::Work;
        let by = zone.with(|zone| counted_by(zone, None, WEEK_HOURS));
        is_shown.then(|| api::planning::work_ahead(address.namespace(), by))
    });
    use_every(LOOK, move || work.loading.refresh());
    let hours = Memo::new(move |_| match measure.get() {
        Measure::Starts => week.with(|week| week.counted(frequent.get())),
        Measure::Work => {
            let (week, work) = (week.get()?, work.get()?);
            Some(week.counted_with(&work, frequent.get()))
        }
    });
    // A link may name a minute: its hour is shown from there on, until another one is chosen. Without either, the
    // busiest one is shown: that is where schedules collide.
    let minute = Memo::new(move |_| {
        chosen.get().is_none().then(|| Moment::parse_local(&address.query("at"))).flatten()
    });
    let shown = Memo::new(move |_| {
        let busiest = || hours.with(|hours| busiest(hours.as_deref()?, measure.get()));
        chosen.get().or_else(|| minute.get()).or_else(busiest)
    });
    let cells = move || {
        live(move || {
            let heat = |hours: &Vec<ForecastHour>| heat::heat(hours, measure.get(), chosen);
            hours.with(|hours| hours.as_ref().map(heat)).into_any()
        })
    };
    let heat = move |measure: Measure| {
        let choice = frequent_choice(week, frequent);
        match measure {
            Measure::Starts => {
                let content = view! { {cells()}{choice} };
                panel("Starts in the next 7 days", (), content)
            }
            Measure::Work => {
                let content = view! {
                    <AsyncView loading=work.loading what="the work to come">{cells()}</AsyncView>
                    {choice}
                };
                panel("Worker-minutes in the next 7 days", (), content)
            }
        }
    };
    let is_empty = Signal::derive(move || {
        week.with(|week| week.hours.iter().all(|hour| hour.fires == 0)).unwrap_or_default()
    });
    let days = Signal::derive(move || {
        let today = zone.with(|zone| today(zone));
        (0..WEEK_DAYS).map(|days| today.plus(days)).collect::<Vec<_>>()
    });
    view! {
        {measures()}
        <div class="stack">
            <AsyncView
                loading=loading
                what="what is to come"
                is_empty=is_empty
                empty=|| nothing("Nothing starts in the next 7 days")
            >
                {live(move || heat(measure.get()))}
                {live(move || match shown.get() {
                    Some(at) => view! { <minutes::Minutes at=at minute=minute.get() frequent=frequent.get()/> }.into_any(),
                    None => ().into_any(),
                })}
                {week.draw(cut)}
            </AsyncView>
            <Bands days=days/>
        </div>
    }
}

/// The hour that an address names. An address that was kept may name one that is over.
fn named_hour(text: &str) -> Option<Moment> {
    Moment::parse(text).filter(|at| at.later(HOUR_MS) > Moment::now())
}

/// The choice of what is counted.
fn measures() -> AnyView {
    let address = use_address();
    let link = |(name, words): (&'static str, &'static str)| {
        let href = move || address.href(&[("measure", name)]);
        let measure = Measure::of(name);
        let is_chosen =
            move || (Measure::of(&address.query("measure")) == measure).then_some("true");
        view! { <a href=move || href() aria-current=move || is_chosen()>{words}</a> }.into_any()
    };
    let links = [("", "Starts"), ("work", "Worker-minutes")].map(link);
    view! { <nav class="filters spans" aria-label="What is counted">{Vec::from(links)}</nav> }
        .into_any()
}

/// The hour with the most starts, or the most work; the first one if there are several.
fn busiest(hours: &[ForecastHour], measure: Measure) -> Option<Moment> {
    let later = |a: &&ForecastHour, b: &&ForecastHour| {
        measure.amount(a).cmp(&measure.amount(b)).then(b.at.cmp(&a.at))
    };
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

fn cut(forecast: &Forecast) -> AnyView {
    if forecast.is_complete { ().into_any() } else { cut_note() }
}

fn cut_note() -> AnyView {
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
            work_ms: 0,
        };
        let hours = [hour(1, 2), hour(2, 9), hour(3, 9)];
        assert_eq!(busiest(&hours, Measure::Starts), Some(Moment::from_millis(2)));
        assert_eq!(busiest(&[], Measure::Starts), None);
        let long = [hours[0], hours[1], ForecastHour { work_ms: 60_000, ..hours[2] }];
        assert_eq!(busiest(&long, Measure::Work), Some(Moment::from_millis(3)));
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
