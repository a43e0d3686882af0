//! The last seven days, a strip each: how the runs of each hour ended, and which fires did not run. A chosen day
//! narrows the ledger to it; the address holds the first instant of that day, and its end.

use std::{collections::BTreeMap, time::Duration};

use leptos::prelude::*;

use super::has_focus;
use crate::{
    api::{self, SeriesQuery},
    components::live,
    data::{Load, use_load},
    model::{RunStats, ScheduleDetail, StatPoint},
    state::{Address, use_address, use_every, use_zone},
    time::{Moment, Wall, day_words, grouped, zone_of_hours},
};

/// Number of days, and the time that is counted: one day more, because the first one is incomplete.
const DAYS: usize = 7;
const COUNTED_MS: i64 = 8 * 86_400_000;
const HOUR: i64 = 3_600;
/// Every clock shows a whole hour at the begin of a quarter of an hour in UTC.
const QUARTER: i64 = HOUR / 4;
/// How often it is counted again. Counting reads each run and each fire of these days.
const LOOK: Duration = Duration::from_secs(60);
/// The width of an hour in the drawing, with the gap after it.
const CELL: usize = 10;

/// The outcomes: the state that colours each, and its word. The first one that an hour has gives the hour its colour.
const OUTCOMES: [(&str, &str); 5] = [
    ("failed", "failed"),
    ("missed", "lost"),
    ("succeeded", "succeeded"),
    ("cancelled", "cancelled"),
    ("skipped", "skipped"),
];

/// The number of each outcome.
type Counts = [i64; 5];

/// A day by the hour.
#[derive(Clone, Debug, PartialEq)]
struct Strip {
    from: Moment,
    hours: [Counts; 24],
    total: Counts,
}

/// The bounds of the ledger that the address holds; tracked.
pub(super) fn range(address: Address) -> [Option<Moment>; 2] {
    ["from", "until"].map(|name| Moment::parse(&address.query(name)))
}

/// The strips; empty if nothing has ended in these days.
#[component]
pub(super) fn Strips(id: String, load: Load<ScheduleDetail>) -> impl IntoView {
    let (address, clock) = (use_address(), use_zone());
    let zone = Memo::new(move |_| {
        let own = load.with(|schedule| schedule.row.timing.zone.clone());
        clock.get().zone(own.as_deref())
    });
    let stats = use_load(move || {
        let now = Moment::now();
        let from = now.earlier(COUNTED_MS);
        let is_by_quarter = zone.with(|zone| zone_of_hours(zone, from, now).is_some());
        Some(api::run_stats(SeriesQuery {
            namespace: address.namespace(),
            from,
            until: None,
            step: if is_by_quarter { QUARTER } else { HOUR },
            tag: None,
            schedule: Some(id.clone()),
        }))
    });
    use_every(LOOK, move || {
        // Strips that are drawn again lose the focus.
        if !has_focus(".strips") {
            stats.loading.refresh();
        }
    });
    live(move || {
        let drawn = stats.with(|stats| zone.with(|zone| draw(stats, zone, address)));
        drawn.unwrap_or_else(|| ().into_any())
    })
}

fn draw(stats: &RunStats, zone: &str, address: Address) -> AnyView {
    let days = strips(stats, zone);
    if days.iter().all(|(_, strip)| strip.total == Counts::default()) {
        return ().into_any();
    }
    let mut next = None::<Moment>;
    let mut rows = Vec::with_capacity(days.len());
    for (date, strip) in &days {
        rows.push(row(date, strip, next, address));
        // The days are in reverse order: a day ends where the day in the line above it begins.
        next = Some(strip.from);
    }
    let marks = ["00", "06", "12", "18", "24"].map(|hour| view! { <span>{hour}</span> }.into_any());
    let cut = (!stats.is_complete).then(|| {
        let words = "There is too much to count all of it: the first hours are incomplete.";
        view! { <p class="panel-note">{words}</p> }.into_any()
    });
    view! {
        <table class="strips">
            <caption class="visually-hidden">"The last 7 days by the hour"</caption>
            <thead>
                <tr>
                    <th scope="col"><span class="visually-hidden">"Day"</span></th>
                    <th scope="col">
                        <span class="visually-hidden">"By the hour"</span>
                        <span class="strip-hours" aria-hidden="true">{Vec::from(marks)}</span>
                    </th>
                    <th scope="col"><span class="visually-hidden">"Outcomes"</span></th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        {cut}
    }
    .into_any()
}

/// A day. `until` is its end; today has none.
fn row(date: &str, strip: &Strip, until: Option<Moment>, address: Address) -> AnyView {
    let day = day_words(date, Moment::now());
    let from = strip.from.to_rfc3339();
    let until = until.map(Moment::to_rfc3339).unwrap_or_default();
    let label = format!("{day}: {}", words(&strip.total));
    let known = from.clone();
    let is_chosen = move || (address.query("from") == known).to_string();
    let choose = move |_| {
        let is_chosen = untrack(|| address.query("from")) == from;
        let (from, until) = if is_chosen { ("", "") } else { (from.as_str(), until.as_str()) };
        let range = [("from", from), ("until", until), ("after", ""), ("before", "")];
        address.replace(&address.with(&range));
    };
    let hours: Vec<_> = strip.hours.iter().enumerate().filter_map(hour).collect();
    view! {
        <tr data-testid="strip">
            <th scope="row">
                <button type="button" class="query-view" aria-pressed=is_chosen on:click=choose>{day}</button>
            </th>
            <td>
                <svg class="strip" viewBox="0 0 239 10" preserveAspectRatio="none" role="img" aria-label=label>
                    <rect class="tally-ground" width="239" height="10"></rect>
                    {hours}
                </svg>
            </td>
            <td class="strip-words">{words(&strip.total)}</td>
        </tr>
    }
    .into_any()
}

/// An hour in which something has ended.
fn hour((hour, counts): (usize, &Counts)) -> Option<AnyView> {
    let state = state(counts)?;
    let title = format!("{hour:02}:00: {}", words(counts));
    let part = view! {
        <rect class="tally-part" data-state=state x=hour * CELL y="0" width=CELL - 1 height="10">
            <title>{title}</title>
        </rect>
    };
    Some(part.into_any())
}

/// The days of a zone, the last one first. The hours of a clock that goes back are added up.
fn strips(stats: &RunStats, zone: &str) -> Vec<(String, Strip)> {
    let mut days = BTreeMap::<String, Strip>::new();
    for point in &stats.points {
        let wall = Wall::read(point.at, zone).or_else(|| Wall::read(point.at, "UTC"));
        let Some(wall) = wall else { continue };
        let place = wall.time.get(..2).and_then(|hour| hour.parse::<usize>().ok());
        let strip = days.entry(wall.date).or_insert_with(|| Strip {
            from: point.at,
            hours: [Counts::default(); 24],
            total: Counts::default(),
        });
        let counts = counts(point);
        let hour = place.and_then(|place| strip.hours.get_mut(place));
        for sum in [Some(&mut strip.total), hour].into_iter().flatten() {
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
    days.into_iter().rev().take(DAYS).collect()
}

/// The outcomes of a step, in the order of `OUTCOMES`.
fn counts(point: &StatPoint) -> Counts {
    [
        point.failed + point.timed_out,
        point.missed + point.abandoned,
        point.succeeded,
        point.cancelled,
        point.skipped,
    ]
}

/// The state that colours an hour; none if nothing has ended in it.
fn state(counts: &Counts) -> Option<&'static str> {
    let found = OUTCOMES.iter().zip(counts).find(|(_, count)| **count > 0);
    found.map(|((state, _), _)| *state)
}

fn words(counts: &Counts) -> String {
    let counted = OUTCOMES.iter().zip(counts).filter(|(_, count)| **count > 0);
    let words: Vec<String> =
        counted.map(|((_, word), count)| format!("{} {word}", grouped(*count))).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn point(at: &str, change: &Value) -> Value {
        let mut point = json!({
            "at": at, "succeeded": 0, "failed": 0, "timedOut": 0, "cancelled": 0, "skipped": 0, "missed": 0,
            "abandoned": 0, "durations": null, "latenesses": null,
        });
        point.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        point
    }

    #[test]
    fn hours_are_put_into_their_day_and_the_last_day_comes_first() {
        let points = [
            point("2026-11-27T23:00:00Z", &json!({ "succeeded": 3 })),
            point("2026-11-28T00:00:00Z", &json!({ "timedOut": 1, "failed": 1, "skipped": 4 })),
            point("2026-11-28T05:00:00Z", &json!({ "succeeded": 2 })),
        ];
        let stats = serde_json::from_value(json!({
            "from": "2026-11-27T23:00:00Z", "until": "2026-11-28T06:00:00Z", "stepSeconds": 3_600,
            "isComplete": true, "points": points,
        }));
        let days = strips(&stats.unwrap(), "UTC");
        let dates: Vec<_> = days.iter().map(|(date, _)| date.as_str()).collect();
        assert_eq!(dates, ["2026-11-28", "2026-11-27"]);
        let (_, last) = &days[0];
        assert_eq!(
            (last.from, last.total),
            (Moment::parse("2026-11-28T00:00:00Z").unwrap(), [2, 0, 2, 0, 4])
        );
        assert_eq!([last.hours[0], last.hours[5]], [[2, 0, 0, 0, 4], [0, 0, 2, 0, 0]]);
    }

    #[test]
    fn the_worst_outcome_colours_an_hour_and_all_are_in_the_words() {
        assert_eq!(state(&[1, 0, 90, 0, 0]), Some("failed"));
        assert_eq!(state(&[0, 0, 1, 0, 90]), Some("succeeded"));
        assert_eq!(state(&Counts::default()), None);
        assert_eq!(words(&[1, 0, 90, 0, 2]), "1 failed, 90 succeeded, 2 skipped");
        assert_eq!(words(&Counts::default()), "nothing");
    }
}
