//! The next hour by the minute, and the schedules that fire next. A schedule that fires often still takes only one
//! line.

use leptos::prelude::*;

use crate::{
    components::{BarColumn, Drag, When, stacked_bars},
    model::{Minutes, NextSchedule},
    pages::{kit::place_note, steps},
    route::Route,
    time::{Moment, seconds},
};

const MINUTE: i64 = 60_000;
/// A schedule that fires again sooner than this is shown with its interval instead of a time.
const OFTEN: i64 = 10 * MINUTE;

/// The bars. Each leads to its minute in Upcoming, and a click calls `chosen` with the minute.
pub(super) fn minutes(
    minutes: &Minutes,
    zone: &str,
    drag: Drag,
    chosen: Callback<Moment>,
) -> AnyView {
    let from = minutes.from;
    let at = move |index: usize| from.later(i64::try_from(index).unwrap_or(0) * MINUTE);
    let column = |(index, starts): (usize, &i64)| BarColumn {
        name: steps::name(at(index), zone),
        href: Some(upcoming(at(index))),
        counts: vec![*starts],
    };
    let columns = minutes.starts.iter().enumerate().map(column).collect();
    let axis = steps::axis(minutes.from, at(minutes.starts.len()), zone);
    let note = (!minutes.is_complete).then(|| {
        view! { <p class="muted">"There are too many upcoming fires to count them all."</p> }
            .into_any()
    });
    let chosen = Callback::new(move |(first, _): (usize, usize)| chosen.run(at(first)));
    let bars = stacked_bars(
        "Starts in the next hour",
        vec![("running", "Starts")],
        columns,
        axis,
        drag,
        chosen,
    );
    view! { {bars}{note} }.into_any()
}

/// The address of a minute in Upcoming, including frequent schedules, because the minute's bar counts them as well.
pub(super) fn upcoming(minute: Moment) -> String {
    Route::Upcoming.narrowed(&[("at", &minute.to_rfc3339()), ("frequent", "yes")])
}

pub(super) fn schedules(next: &[NextSchedule]) -> AnyView {
    let due = next.iter().filter(|schedule| !schedule.next_fires.is_empty());
    let rows: Vec<_> = due.map(row).collect();
    if rows.is_empty() {
        return view! { <p class="empty">"Nothing is due. Schedules appear here as soon as they are active."</p> }.into_any();
    }
    view! { <ol class="upcoming">{rows}</ol> }.into_any()
}

fn row(schedule: &NextSchedule) -> AnyView {
    let zone = Some(schedule.timing.zone.clone());
    let times: Vec<Moment> = schedule.next_fires.iter().map(|fire| fire.at).collect();
    let suppressed = schedule.next_fires.first().and_then(|fire| fire.suppressed_by.clone());
    let when = match (often(&times), times.first()) {
        (Some(words), _) => {
            let title = schedule.timing.description.clone();
            view! { <span class="when-often" title=title>{words}</span> }.into_any()
        }
        (None, Some(at)) => When::new(*at).zone(zone).far().suppressed(suppressed).view(),
        (None, None) => ().into_any(),
    };
    view! {
        <li data-testid="next-schedule">
            <a href=Route::Schedule(schedule.id.clone()).path()>
                {schedule.name.clone()}{place_note(&schedule.namespace)}
            </a>
            {when}
        </li>
    }
    .into_any()
}

/// The interval of a schedule that fires often: `every 30 s`.
fn often(times: &[Moment]) -> Option<String> {
    let [first, second, ..] = times else { return None };
    let apart = second.since(*first);
    (apart < OFTEN).then(|| format!("every {}", seconds((apart / 1_000).max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        serde_json::from_value(serde_json::json!(text)).unwrap()
    }

    #[test]
    fn a_frequent_schedule_is_shown_with_its_interval() {
        let noon = at("2026-11-26T12:00:00Z");
        assert_eq!(often(&[noon, noon.later(30_000)]).as_deref(), Some("every 30 s"));
        assert_eq!(often(&[noon, noon.later(OFTEN)]), None);
        assert_eq!(often(&[noon]), None);
    }
}
