//! An instant as users read it: `Wed 25 Nov 02:30 Berlin`, and its distance from now.
//!
//! The zone picker determines the clock. The tooltip shows the exact instant in UTC, the schedule's zone and the
//! browser's zone. A list has a hundred times, and the user points at few of them, so a tooltip is written only when
//! the pointer reaches its time.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::{
    state::{ZoneChoice, use_now, use_zone},
    time::{Moment, Wall, browser_zone, city, day_words, distance},
};

/// An instant under construction; `view` draws it.
pub(crate) struct When {
    at: Moment,
    zone: Option<String>,
    has_seconds: bool,
    has_distance: bool,
    is_exact_by_focus: bool,
    suppressed_by: Option<String>,
}

impl When {
    pub(crate) fn new(at: Moment) -> Self {
        Self {
            at,
            zone: None,
            has_seconds: at.millis().rem_euclid(60_000) >= 1_000,
            has_distance: false,
            is_exact_by_focus: false,
            suppressed_by: None,
        }
    }

    /// Sets the schedule's zone.
    pub(crate) fn zone(self, zone: Option<String>) -> Self {
        Self { zone, ..self }
    }

    /// Shows the instant without seconds, where they do not matter.
    pub(crate) fn minutes(self) -> Self {
        Self { has_seconds: false, ..self }
    }

    /// Adds the distance from now: `in 5 h`.
    pub(crate) fn far(self) -> Self {
        Self { has_distance: true, ..self }
    }

    /// Lets the tooltip open on focus as well, for an instant outside a table. In a table, each row has only one tab
    /// stop.
    pub(crate) fn focusable(self) -> Self {
        Self { is_exact_by_focus: true, ..self }
    }

    /// Strikes the instant out if a calendar suppresses it.
    pub(crate) fn suppressed(self, by: Option<String>) -> Self {
        Self { suppressed_by: by, ..self }
    }

    pub(crate) fn view(self) -> AnyView {
        let Self { at, zone, has_seconds, has_distance, is_exact_by_focus, suppressed_by } = self;
        let (choice, now) = (use_zone(), use_now());
        let zone_of_schedule = zone.clone();
        let tip = is_exact_by_focus.then(|| {
            let exact = exact(at, zone.clone());
            view! { <span class="when-exact" role="tooltip">{exact}</span> }.into_any()
        });
        let shown = move || {
            let (wall, name) = read(at, &choice.get(), zone.as_deref());
            let time =
                wall.time.get(..if has_seconds { 8 } else { 5 }).unwrap_or_default().to_owned();
            let day = day_words(&wall.date, Moment::now());
            let place = city(&name);
            view! {
                <span class="when-date">{day}</span>" "{time}
                <span class="when-zone">{place}</span>
            }
            .into_any()
        };
        let far = has_distance.then(|| {
            let far = move || distance(at.since(now.get()));
            view! { <span class="when-distance">{move || far()}</span> }.into_any()
        });
        let shown = move || shown();
        let clock = match suppressed_by {
            Some(calendar) => view! {
                <s class="when-clock">{shown}</s>
                <span class="when-suppressed">{format!("not run: calendar {calendar}")}</span>
            }
            .into_any(),
            None => view! { <span class="when-clock">{shown}</span> }.into_any(),
        };
        view! {
            <time
                class="when"
                datetime=at.to_rfc3339()
                data-zone=zone_of_schedule
                tabindex=is_exact_by_focus.then_some("0")
            >
                {clock}{far}{tip}
            </time>
        }
        .into_any()
    }
}

/// Shows an instant. `zone` is the schedule's zone, if there is a schedule.
pub(crate) fn when(at: Moment, zone: Option<String>) -> AnyView {
    When::new(at).zone(zone).view()
}

/// Shows an instant with its distance from now.
pub(crate) fn when_relative(at: Moment, zone: Option<String>) -> AnyView {
    When::new(at).zone(zone).far().view()
}

/// Writes the tooltips of times from now on. The app calls this once.
pub(crate) fn explain_times() {
    let _listener = window_event_listener(ev::pointerover, |event| {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let time = target.and_then(|target| target.closest("time.when").ok().flatten());
        // A time with its own tab stop shows its tooltip itself.
        let Some(time) = time.filter(|time| !time.has_attribute("tabindex")) else { return };
        let at = time.get_attribute("datetime").and_then(|at| Moment::parse(&at));
        if let Some(at) = at {
            let exact = exact(at, time.get_attribute("data-zone"));
            let _unchanged = time.set_attribute("title", &exact);
        }
    });
}

/// The instant in UTC, the schedule's zone and the browser's; equal zones appear once.
fn exact(at: Moment, zone: Option<String>) -> String {
    let mut zones = vec!["UTC".to_owned()];
    for zone in zone.into_iter().chain([browser_zone()]) {
        if !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    let line = |zone: &String| Wall::read(at, zone).map(|wall| format!("{wall}  {zone}"));
    zones.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// The wall-clock time, and its zone. A zone that this browser does not know falls back to UTC.
fn read(at: Moment, choice: &ZoneChoice, schedule: Option<&str>) -> (Wall, String) {
    let zone = choice.zone(schedule);
    match Wall::read(at, &zone) {
        Some(wall) => (wall, zone),
        None => (Wall::read(at, "UTC").unwrap_or_default(), "UTC".to_owned()),
    }
}
