//! The runs of the last seven days, by weekday and hour of the chosen clock.

use leptos::prelude::*;

use crate::{
    components::{Week, heat_map},
    model::RunStats,
    pages::steps,
    time::{Moment, Wall, zone_of_hours},
};

/// The time that is counted.
const WEEK: i64 = 7 * 86_400_000;
const HOUR: i64 = 3_600;
/// Every clock shows a whole hour at the begin of a quarter of an hour in UTC.
const QUARTER: i64 = HOUR / 4;

/// The begin of what is counted.
pub(super) fn begin(now: Moment) -> Moment {
    now.earlier(WEEK)
}

/// The length of the steps, in seconds, that the hours of a zone's clock consist of.
pub(super) fn step(zone: &str, now: Moment) -> i64 {
    if zone_of_hours(zone, begin(now), now).is_some() { QUARTER } else { HOUR }
}

/// The heat map, with a note if its cells are not the hours of the zone's clock.
pub(super) fn hours(stats: &RunStats, zone: &str) -> AnyView {
    // The server keeps older figures of a whole namespace by the hour of UTC, and then has no finer steps.
    let newest = stats.points.last().filter(|_| stats.step_seconds >= HOUR);
    let clock = newest.and_then(|point| Wall::read(point.at, zone));
    let minutes = clock.and_then(|clock| past(&clock.time));
    let note =
        minutes.map(|minutes| view! { <p class="panel-note">{off_words(&minutes)}</p> }.into_any());
    view! {
        {heat_map("Runs by weekday and hour", &by_hour(stats, zone))}
        {note}
    }
    .into_any()
}

/// The minutes that a clock such as `09:30:00` shows past the hour, if there are any.
fn past(time: &str) -> Option<String> {
    time.get(3..5).filter(|minutes| *minutes != "00").map(str::to_owned)
}

fn off_words(minutes: &str) -> String {
    format!(
        "Each hour begins at :{minutes}, because older figures are kept by the hour of UTC. \
         With a tag or a schedule, the hours are those of this clock."
    )
}

/// The number of ended runs, by weekday and hour.
fn by_hour(stats: &RunStats, zone: &str) -> Week {
    let mut week: Week = [[0; 24]; 7];
    for point in &stats.points {
        let place = steps::weekday_and_hour(point.at, zone);
        let cell = place.and_then(|(day, hour)| week.get_mut(day)?.get_mut(hour));
        if let Some(cell) = cell {
            *cell += point.succeeded + point.failed + point.timed_out + point.cancelled;
        }
    }
    week
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_quarters_of_an_hour_are_added_up() {
        let point = |at: &str, succeeded: i64, failed: i64| -> Value {
            json!({
                "at": at, "succeeded": succeeded, "failed": failed, "timedOut": 0, "cancelled": 1, "skipped": 9,
                "missed": 9, "abandoned": 9, "durations": null, "latenesses": null,
            })
        };
        let stats: RunStats = serde_json::from_value(json!({
            "from": "2026-11-25T09:00:00Z", "until": "2026-11-25T10:15:00Z", "stepSeconds": 900,
            "isComplete": true,
            "points": [
                point("2026-11-25T09:00:00Z", 3, 0),
                point("2026-11-25T09:45:00Z", 0, 2),
                point("2026-11-25T10:00:00Z", 1, 0),
            ],
        }))
        .unwrap();
        // A Wednesday.
        let week = by_hour(&stats, "UTC");
        assert_eq!((week[2][9], week[2][10]), (7, 2));
        assert_eq!(week.iter().flatten().sum::<i64>(), 9);
    }

    #[test]
    fn the_hours_of_most_clocks_need_no_note() {
        assert_eq!(step("UTC", Moment::from_millis(0)), HOUR);
        assert_eq!((past("09:00:00"), past("09:45:00")), (None, Some("45".to_owned())));
        assert!(off_words("30").starts_with("Each hour begins at :30,"));
    }
}
