//! One day by the hour, and the selected hour by the minute.

use leptos::prelude::*;

use super::{
    LOOK,
    bands::Bands,
    busiest, counted_by, cut, frequent_choice,
    heat::{Measure, by_day},
    minutes, nothing, today, use_frequent,
};
use crate::{
    api,
    components::{AsyncView, live, panel},
    data::use_load,
    model::ForecastHour,
    state::{use_address, use_every, use_zone},
    time::{Day, Moment, Wall, day_words, grouped},
};

/// A day has up to 25 hours.
const HOURS: i64 = 25;

/// The day that the address names: today, unless it names a later one.
#[component]
pub(super) fn OneDay() -> impl IntoView {
    let (address, clock) = (use_address(), use_zone());
    let zone = Memo::new(move |_| clock.get().zone(None));
    let day = Memo::new(move |_| {
        let today = zone.with(|zone| today(zone));
        Day::parse(&address.query("day")).filter(|day| *day > today).unwrap_or(today)
    });
    let forecast = use_load(move || {
        let from = zone.with(|zone| midnight(day.get(), zone));
        let by = zone.with(|zone| counted_by(zone, from, HOURS));
        Some(api::planning::upcoming(address.namespace(), from, HOURS, true, by))
    });
    use_every(LOOK, move || forecast.loading.refresh());
    let frequent = use_frequent(forecast);
    let hours = Memo::new(move |_| {
        let (day, zone, with) = (day.get(), zone.get(), frequent.get());
        // Until the answer for another day arrives, the last one may have an hour of it.
        let counted = forecast.with(|forecast| {
            begins_on(&forecast.hours, day, &zone).then(|| forecast.counted(with))
        });
        of_day(&counted.flatten().unwrap_or_default(), day, &zone)
    });
    let chosen = RwSignal::new(None::<Moment>);
    Effect::new(move |_| {
        day.track();
        chosen.set(None);
    });
    let shown = Memo::new(move |_| {
        let all = hours.with(|hours| hours.iter().map(|(_, hour)| *hour).collect::<Vec<_>>());
        chosen.get().or_else(|| busiest(&all, Measure::Starts))
    });
    let is_empty = Signal::derive(move || {
        let is_none = |hours: &Vec<(usize, ForecastHour)>| {
            !hours.is_empty() && hours.iter().all(|(_, hour)| hour.fires == 0)
        };
        // Without an answer for this day, nothing is known.
        hours.with(is_none)
    });
    let table = move || hours.with(|hours| table(hours, chosen, shown));
    let starts = move || view! { {live(table)}{frequent_choice(forecast, frequent)} }.into_any();
    view! {
        <div class="stack">
            {live(move || head(day.get(), zone.with(|zone| today(zone))))}
            <AsyncView
                loading=forecast.loading
                what="the day"
                is_empty=is_empty
                empty=|| nothing("Nothing starts on this day")
            >
                {panel("Starts by the hour", (), starts())}
                {live(move || match shown.get() {
                    Some(at) => view! { <minutes::Minutes at=at minute=None frequent=frequent.get()/> }.into_any(),
                    None => ().into_any(),
                })}
                {forecast.draw(cut)}
            </AsyncView>
            <Bands days=Signal::derive(move || vec![day.get()])/>
        </div>
    }
}

/// The day, between links to the one before and the one after.
fn head(day: Day, today: Day) -> AnyView {
    let address = use_address();
    let href = move |days: i64| {
        let to = day.plus(days);
        address.with(&[("day", &to.to_string())])
    };
    let before = (day > today).then(|| {
        view! { <a class="button" href=href(-1) aria-label="The day before">"‹"</a> }.into_any()
    });
    let words = day_words(&day.to_string(), Moment::now());
    view! {
        <div class="year-head">
            {before}
            <strong data-testid="day">{words}</strong>
            <a class="button" href=href(1) aria-label="The day after">"›"</a>
        </div>
    }
    .into_any()
}

/// The first instant of a day in a zone; none if this browser does not know the zone.
fn midnight(day: Day, zone: &str) -> Option<Moment> {
    let utc = Moment::parse(&format!("{day}T00:00:00Z"))?;
    let at = |near: Moment| {
        let offset = Wall::read(near, zone)?.offset.replace("UTC", "Z").replace('\u{2212}', "-");
        Moment::parse(&format!("{day}T00:00:00{offset}"))
    };
    // The offset may change between the two.
    at(at(utc)?)
}

/// Whether the hours of a forecast begin on a day. That of today begins with the current hour.
fn begins_on(hours: &[ForecastHour], day: Day, zone: &str) -> bool {
    let begin = hours.first().and_then(|hour| Wall::read(hour.at, zone));
    begin.is_none_or(|begin| begin.date == day.to_string())
}

/// The hours of a day by the clock of a zone.
fn of_day(hours: &[ForecastHour], day: Day, zone: &str) -> Vec<(usize, ForecastHour)> {
    let hours = by_day(hours, zone).remove(&day.to_string()).unwrap_or_default();
    hours.into_iter().enumerate().filter_map(|(place, hour)| Some((place, hour?))).collect()
}

fn table(
    hours: &[(usize, ForecastHour)],
    chosen: RwSignal<Option<Moment>>,
    shown: Memo<Option<Moment>>,
) -> AnyView {
    let most = hours.iter().map(|(_, hour)| hour.fires).max().unwrap_or_default();
    let row = |(place, hour): &(usize, ForecastHour)| {
        let (at, name) = (hour.at, format!("{place:02}:00"));
        view! {
            <tr data-testid="day-hour">
                <th scope="row">
                    <button
                        type="button"
                        class="query-view"
                        aria-pressed=move || (shown.get() == Some(at)).to_string()
                        on:click=move |_| chosen.set(Some(at))
                    >
                        {name}
                    </button>
                </th>
                <td class="number">{grouped(hour.fires)}</td>
                <td class="number">{grouped(hour.schedules)}</td>
                <td>{bar(hour.fires, most)}</td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = hours.iter().map(row).collect();
    view! {
        <table class="day-load">
            <caption class="visually-hidden">"Starts by the hour"</caption>
            <thead>
                <tr>
                    <th scope="col">"Hour"</th>
                    <th scope="col" class="number">"Starts"</th>
                    <th scope="col" class="number">"Schedules"</th>
                    <th scope="col"><span class="visually-hidden">"Compared with the busiest hour"</span></th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

/// The starts of an hour as a share of those of the busiest one.
fn bar(fires: i64, most: i64) -> AnyView {
    let width = (fires * 100 / most.max(1)).max(i64::from(fires > 0));
    view! {
        <svg class="hour-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect class="tally-ground" width="100" height="8"></rect>
            <rect class="tally-part" data-state="running" width=width height="8"></rect>
        </svg>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(at: &str) -> ForecastHour {
        ForecastHour {
            at: Moment::parse(at).unwrap(),
            fires: 1,
            schedules: 1,
            frequent_fires: 0,
            frequent_schedules: 0,
            work_ms: 0,
        }
    }

    #[test]
    fn a_day_has_its_own_hours_alone() {
        let hours = [
            hour("2026-12-01T23:00:00Z"),
            hour("2026-12-02T00:00:00Z"),
            hour("2026-12-02T05:00:00Z"),
        ];
        let found = of_day(&hours, Day::new(2026, 12, 2), "UTC");
        assert_eq!(found, [(0, hours[1]), (5, hours[2])]);
        assert!(of_day(&hours, Day::new(2026, 12, 3), "UTC").is_empty());
    }

    #[test]
    fn a_forecast_of_another_day_is_not_shown() {
        let begins = |at: &str| begins_on(&[hour(at)], Day::new(2026, 12, 2), "UTC");
        assert!(begins("2026-12-02T00:00:00Z") && begins("2026-12-02T23:00:00Z"));
        assert!(!begins("2026-12-01T23:00:00Z") && !begins("2026-12-03T00:00:00Z"));
    }

    #[test]
    fn a_day_begins_at_midnight() {
        let begin = midnight(Day::new(2026, 12, 2), "UTC");
        assert_eq!(begin, Moment::parse("2026-12-02T00:00:00Z"));
    }
}
