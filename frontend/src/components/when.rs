//! An instant on the clock that the zone switch asks for; pointed at, on all three.

use leptos::prelude::*;

use crate::{
    state::{ZoneChoice, use_now, use_today, use_zone},
    time::{Moment, Wall, browser_zone, distance},
};

/// A time with its offset, and the date unless it is today. `zone` is the schedule's, where there is a schedule.
pub(crate) fn when(at: Moment, zone: Option<String>) -> AnyView {
    clock(at, zone, ().into_any())
}

/// The same with how far it is from now: `in 4 min`.
pub(crate) fn when_relative(at: Moment, zone: Option<String>) -> AnyView {
    let now = use_now();
    let far = move || distance(at.since(now.get()));
    clock(at, zone, view! { <span class="when-distance">{move || far()}</span> }.into_any())
}

fn clock(at: Moment, zone: Option<String>, far: AnyView) -> AnyView {
    let (choice, today) = (use_zone(), use_today());
    let title = title(at, zone.clone());
    let shown = move || {
        today.track();
        let wall = read(at, choice.get(), zone.as_deref());
        let today = read(Moment::now(), choice.get(), zone.as_deref()).date;
        let date = (wall.date != today)
            .then(|| view! { <span class="when-date">{wall.date}</span>" " }.into_any());
        view! { {date}{wall.time}<span class="when-offset">{wall.offset}</span> }.into_any()
    };
    view! {
        <time class="when" datetime=at.to_rfc3339() title=title>
            <span class="when-clock">{move || shown()}</span>
            {far}
        </time>
    }
    .into_any()
}

/// The instant in UTC, the schedule's zone and the browser's, each once.
fn title(at: Moment, zone: Option<String>) -> String {
    let mut zones = vec!["UTC".to_owned()];
    for zone in zone.into_iter().chain([browser_zone()]) {
        if !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    let line = |zone: &String| Wall::read(at, zone).map(|wall| format!("{wall}  {zone}"));
    zones.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// A zone that this browser does not know is shown in UTC; the offset says so.
fn read(at: Moment, choice: ZoneChoice, schedule: Option<&str>) -> Wall {
    Wall::read(at, &choice.zone(schedule)).or_else(|| Wall::read(at, "UTC")).unwrap_or_default()
}
