//! An instant on the clock that the zone switch asks for; pointed at, on all three.

use leptos::prelude::*;

use crate::{
    state::{ZoneChoice, use_now, use_zone},
    time::{Moment, Wall, browser_zone, distance},
};

/// A time with its offset, the date unless it is today, and on demand how far it is from now.
#[component]
pub(crate) fn When(
    #[prop(into)] at: Signal<Moment>,
    /// The schedule's zone, where there is a schedule.
    #[prop(into, optional)]
    zone: Signal<Option<String>>,
    /// Adds `in 4 min`.
    #[prop(optional)]
    is_relative: bool,
) -> impl IntoView {
    let now = use_now();
    let choice = use_zone();
    let shown = Memo::new(move |_| {
        let wall = read(at.get(), choice.get(), zone.get().as_deref());
        let today = read(now.get(), choice.get(), zone.get().as_deref()).date;
        (wall, today)
    });
    let date = move || shown.with(|(wall, today)| (wall.date != *today).then(|| wall.date.clone()));
    let title = move || {
        let (at, zone) = (at.get(), zone.get());
        let mut zones = vec!["UTC".to_owned()];
        zones.extend(zone);
        zones.push(browser_zone());
        zones.dedup();
        let lines =
            zones.iter().filter_map(|z| Wall::read(at, z).map(|wall| format!("{wall}  {z}")));
        lines.collect::<Vec<_>>().join("\n")
    };
    view! {
        <time class="when" datetime=move || at.get().to_rfc3339() title=title>
            <span class="when-clock">
                {move || date().map(|date| view! { <span class="when-date">{date}</span>" " })}
                {move || shown.with(|(wall, _)| wall.time.clone())}
                <span class="when-offset">{move || shown.with(|(wall, _)| wall.offset.clone())}</span>
            </span>
            {is_relative.then(|| view! {
                <span class="when-distance">{move || distance(at.get().since(now.get()))}</span>
            })}
        </time>
    }
}

/// A zone that this browser does not know is shown in UTC; the offset says so.
fn read(at: Moment, choice: ZoneChoice, schedule: Option<&str>) -> Wall {
    Wall::read(at, &choice.zone(schedule)).or_else(|| Wall::read(at, "UTC")).unwrap_or_default()
}
