//! What is to come: each fire on three clocks, with a mark where the clocks change.

use leptos::prelude::*;

use super::part;
use crate::{
    components::FireMark,
    model::{PreviewFire, ScheduleDetail, ScheduleState},
    state::use_now,
    time::{Moment, Wall, browser_zone, distance},
};

/// The next fires, or why there are none.
#[component]
pub(super) fn NextFires(schedule: Signal<ScheduleDetail>) -> impl IntoView {
    let fires = part(schedule, |schedule| schedule.next_fires.clone());
    let zone = part(schedule, |schedule| schedule.row.zone.clone());
    let state = part(schedule, |schedule| schedule.row.state);
    let why_none = move || match state.get() {
        ScheduleState::Paused => "Paused: nothing fires until it is resumed.",
        ScheduleState::Finished => "No fire is left.",
        ScheduleState::Active => "No fire is left within its bounds.",
    };
    view! {
        <Show
            when=move || fires.with(|fires| !fires.is_empty())
            fallback=move || view! { <p class="empty">{why_none}</p> }
        >
            {move || (state.get() == ScheduleState::Paused).then(|| view! {
                <p class="panel-note">"Paused: these would fire."</p>
            })}
            <FireTable fires=fires zone=zone caption="Next fires"/>
        </Show>
    }
}

/// Fires on the clock of the schedule, UTC and the browser. Zones that are the same are shown once.
#[component]
pub(in crate::pages) fn FireTable(
    fires: Signal<Vec<PreviewFire>>,
    #[prop(into)] zone: Signal<String>,
    caption: &'static str,
) -> impl IntoView {
    let now = use_now();
    let mine = StoredValue::new(browser_zone());
    let shows_utc = Memo::new(move |_| zone.get() != "UTC");
    let shows_mine =
        Memo::new(move |_| mine.with_value(|mine| mine != "UTC" && zone.with(|zone| zone != mine)));
    let row = move |fire: PreviewFire| {
        let at = fire.at;
        // The year is worth its room only where it is another one.
        let year = Wall::read(now.get_untracked(), "UTC").unwrap_or_default().date;
        let is_this_year = year.get(..5).is_some_and(|year| fire.local.starts_with(year));
        let local = fire.local.get(if is_this_year { 5 } else { 0 }..).unwrap_or_default();
        let local = local.replace('T', " ");
        let day = StoredValue::new(fire.local.get(..10).unwrap_or_default().to_owned());
        view! {
            <tr data-kind=(fire.kind != crate::model::FireKind::Normal).then_some("changed")>
                <th scope="row" class="time-cell">
                    {local}<span class="when-offset">{fire.offset}</span>
                    <FireMark kind=fire.kind/>
                </th>
                <Show when=move || shows_utc.get()>
                    <td class="time-cell">{clock(at, "UTC", day.get_value())}</td>
                </Show>
                <Show when=move || shows_mine.get()>
                    <td class="time-cell">{clock(at, &mine.get_value(), day.get_value())}</td>
                </Show>
                <td class="number muted">{move || distance(at.since(now.get()))}</td>
            </tr>
        }
    };
    view! {
        <div class="table-frame" tabindex="0" role="group" aria-label=caption>
            <table class="table table-tight">
                <caption class="visually-hidden">{caption}</caption>
                <thead>
                    <tr>
                        <th scope="col">{zone}</th>
                        <Show when=move || shows_utc.get()><th scope="col">"UTC"</th></Show>
                        <Show when=move || shows_mine.get()><th scope="col">"Mine"</th></Show>
                        <th scope="col" class="number"><span class="visually-hidden">"From now"</span></th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || fires.get() key=|fire| fire.at.millis() as i64 children=row/>
                </tbody>
            </table>
        </div>
    }
}

/// The time there, with month and day where they are not those of the schedule's zone.
fn clock(at: Moment, zone: &str, day: String) -> impl IntoView + use<> {
    let wall = Wall::read(at, zone).unwrap_or_default();
    let other_day = (wall.date != day).then(|| wall.date.get(5..).unwrap_or_default().to_owned());
    view! {
        {other_day.map(|day| view! { <span class="when-date">{day}" "</span> })}
        {wall.time}
    }
}
