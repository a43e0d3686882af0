//! Upcoming: the next fires, a calendar of the next 90 days, and the effect of the next two clock changes.

use leptos::prelude::*;

use super::{
    days::Days,
    next_fires::{fire_table, next_fires},
};
use crate::{
    api,
    components::{live, panel, when_relative},
    data::{Load, use_load},
    model::{PreviewFire, ScheduleDetail},
    time::{Moment, Wall, clock_changes},
};

/// Number of fires that are shown around a clock change, and how long before the change they begin.
const AROUND: i64 = 6;
const BEFORE_MS: i64 = 7_200_000;

/// The tab with the upcoming fires.
pub(in crate::pages) fn next(id: StoredValue<String>, load: Load<ScheduleDetail>) -> AnyView {
    let id = id.get_value();
    let key = id.clone();
    let zone = Memo::new(move |_| load.with(|schedule| schedule.row.timing.zone.clone()));
    let changes = live(move || {
        let Some(zone) = zone.get() else { return ().into_any() };
        let changes = clock_changes(&zone, Moment::now(), 2);
        if changes.is_empty() {
            let words = format!("The clocks of {zone} do not change in the next year.");
            return view! { <p class="muted">{words}</p> }.into_any();
        }
        changes
            .into_iter()
            .map(|at| change(id.clone(), at, zone.clone()))
            .collect::<Vec<_>>()
            .into_any()
    });
    view! {
        <div class="schedule-grid">
            {panel("Next fires", (), load.draw(next_fires))}
            <div class="schedule-side">
                <Days id=key load=load/>
                {panel("Clock changes", (), changes)}
            </div>
        </div>
    }
    .into_any()
}

/// The fires around a clock change.
fn change(id: String, at: Moment, zone: String) -> AnyView {
    let from = at.earlier(BEFORE_MS);
    let fires = use_load(move || Some(api::fires_ahead(id.clone(), AROUND, Some(from))));
    let offset = |at: Moment| Wall::read(at, &zone).unwrap_or_default().offset;
    let words = format!("from {} to {}", offset(at.earlier(1)), offset(at));
    let shown = {
        let zone = zone.clone();
        fires.draw(move |fires| {
            // Only fires within a day of the change can be affected by it.
            let near: Vec<PreviewFire> =
                fires.iter().filter(|fire| fire.at.since(at).abs() < 86_400_000).cloned().collect();
            if near.is_empty() {
                return view! { <p class="muted">"It does not fire around this change."</p> }
                    .into_any();
            }
            fire_table(&near, &zone, "Fires around a clock change")
        })
    };
    view! {
        <div class="clock-change">
            <p>{when_relative(at, Some(zone))}" "<span class="muted">{words}</span></p>
            {shown}
        </div>
    }
    .into_any()
}
