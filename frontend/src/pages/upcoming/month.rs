//! Five weeks by the day, as a page of a calendar: the darker a day, the more starts. Each day leads to its hours.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::{
    HOUR_MS, LOOK,
    bands::Bands,
    counted_by, cut_note, frequent_choice,
    heat::{by_day, level, short},
    nothing, today, together, use_frequent,
};
use crate::{
    api,
    components::{AsyncView, live, panel, week_rows, weekday_heads},
    data::{Load, use_load},
    model::{Forecast, ForecastHour},
    state::{Address, use_address, use_every, use_zone},
    time::{Day, Moment, amount, grouped, month_name},
};

/// The number of days that are shown.
const DAYS: usize = 35;
/// The hours after now at which each request begins, and how many it covers: the server counts two weeks at once. The
/// first hour of a request may be incomplete, so it is also the last of the request before.
const PARTS: [(i64, i64); 3] = [(0, 336), (334, 336), (668, 173)];

/// The five weeks.
#[component]
pub(super) fn Month() -> impl IntoView {
    let (address, clock) = (use_address(), use_zone());
    let now = Moment::now();
    let hour = now.earlier(now.millis().rem_euclid(HOUR_MS));
    let parts = PARTS.map(|(ahead, hours)| {
        let from = Some(hour.later(ahead * HOUR_MS));
        use_load(move || {
            let by = counted_by(&clock.get().zone(None), from, hours);
            Some(api::planning::upcoming(address.namespace(), from, hours, true, by))
        })
    });
    let [first, ..] = parts;
    use_every(LOOK, move || parts.iter().for_each(|part| part.loading.refresh()));
    let frequent = use_frequent(first);
    let page = move || {
        let zone = clock.get().zone(None);
        match all_hours(&parts, frequent.get()) {
            Some(hours) => page(&days(&hours, &zone), &zone, address),
            None => ().into_any(),
        }
    };
    let is_empty = Signal::derive(move || {
        all_hours(&parts, true).is_some_and(|hours| hours.iter().all(|hour| hour.fires == 0))
    });
    let shown = Signal::derive(move || {
        let today = today(&clock.get().zone(None));
        (0..).take(DAYS).map(|days| today.plus(days)).collect::<Vec<_>>()
    });
    let waiting = together(parts.map(|part| part.loading).to_vec());
    let starts = move || view! { {live(page)}{frequent_choice(first, frequent)} }.into_any();
    view! {
        <div class="stack">
            <AsyncView
                loading=waiting
                what="what is to come"
                is_empty=is_empty
                empty=|| nothing("Nothing starts in the next 5 weeks")
            >
                {panel("Starts in the next 5 weeks", (), starts())}
                {live(move || if parts.iter().any(is_cut) { cut_note() } else { ().into_any() })}
            </AsyncView>
            <Bands days=shown/>
        </div>
    }
}

/// Whether the server did not count everything; tracked.
fn is_cut(part: &Load<Forecast>) -> bool {
    part.with(|part| !part.is_complete).unwrap_or_default()
}

/// The hours of all requests; none while one has no answer. Tracked.
fn all_hours(parts: &[Load<Forecast>], frequent: bool) -> Option<Vec<ForecastHour>> {
    let mut all = BTreeMap::new();
    for part in parts {
        let hours = part.with(|part| part.counted(frequent))?;
        for hour in hours {
            // The requests overlap, and an hour is complete in the first one that has it.
            all.entry(hour.at).or_insert(hour);
        }
    }
    Some(all.into_values().collect())
}

/// The number of starts on each day.
fn days(hours: &[ForecastHour], zone: &str) -> Vec<(Day, i64)> {
    let days = by_day(hours, zone);
    let sum = |hours: &[Option<ForecastHour>; 24]| {
        hours.iter().flatten().map(|hour| hour.fires).sum::<i64>()
    };
    let day = |(date, hours): (&String, &[Option<ForecastHour>; 24])| {
        Some((Day::parse(date)?, sum(hours)))
    };
    days.iter().filter_map(day).take(DAYS).collect()
}

fn page(days: &[(Day, i64)], zone: &str, address: Address) -> AnyView {
    let most = days.iter().map(|(_, fires)| *fires).max().unwrap_or_default();
    // The first week begins with the days before today.
    let before = days.first().map_or(0, |(day, _)| day.weekday());
    let mut cells: Vec<AnyView> = (0..before).map(|_| view! { <td></td> }.into_any()).collect();
    for (place, (day, fires)) in days.iter().enumerate() {
        cells.push(cell(*day, *fires, most, place == 0, address));
    }
    view! {
        <table class="month-load">
            <caption class="visually-hidden">{format!("Starts by day in {zone}")}</caption>
            <thead><tr>{weekday_heads()}</tr></thead>
            <tbody>{week_rows(cells)}</tbody>
        </table>
        <p class="hint">{format!("Days in {zone}. The busiest has {}.", amount(most, "start", "starts"))}</p>
    }
    .into_any()
}

fn cell(day: Day, fires: i64, most: i64, is_first: bool, address: Address) -> AnyView {
    let href = address.with(&[("view", "day"), ("day", &day.to_string())]);
    let (year, month, number) = day.parts();
    let month = month_name(month);
    let seen = (is_first || number == 1).then(|| {
        let word = month.get(..3).unwrap_or_default();
        view! { <span aria-hidden="true">{word}</span> }.into_any()
    });
    let starts = if fires == 1 { "start" } else { "starts" };
    let exact = if fires < 1_000 { String::new() } else { format!(", exactly {}", grouped(fires)) };
    view! {
        <td>
            <a href=href data-testid="month-day" data-level=level(fires, most)>
                <span class="month-date">
                    <span>{number}</span>{seen}
                    <span class="visually-hidden">{format!(" {month} {year}: ")}</span>
                </span>
                <strong>{short(fires)}</strong>
                <span class="visually-hidden">{format!(" {starts}{exact}")}</span>
            </a>
        </td>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hours_of_a_day_are_added_up() {
        let hour = |at: &str, fires: i64| ForecastHour {
            at: Moment::parse(at).unwrap(),
            fires,
            schedules: 1,
            frequent_fires: 0,
            frequent_schedules: 0,
            work_ms: 0,
        };
        let hours = [
            hour("2026-12-01T22:00:00Z", 2),
            hour("2026-12-01T23:00:00Z", 3),
            hour("2026-12-02T00:00:00Z", 7),
        ];
        let first = Day::new(2026, 12, 1);
        assert_eq!(days(&hours, "UTC"), [(first, 5), (first.plus(1), 7)]);
    }
}
