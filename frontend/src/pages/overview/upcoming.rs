//! The next fires of all schedules.

use leptos::prelude::*;

use crate::{
    components::{horizon, when_relative},
    model::Upcoming,
    route::Route,
};

/// How many are listed by name; the line shows all that were asked for.
const LISTED: usize = 10;

/// On a line, and the first of them in a list.
pub(super) fn upcoming(fires: &[Upcoming]) -> AnyView {
    if fires.is_empty() {
        let words = "Nothing is due. Fires appear here as soon as a schedule is active.";
        return view! { <p class="empty">{words}</p> }.into_any();
    }
    let listed: Vec<_> = fires.iter().take(LISTED).map(row).collect();
    view! {
        {horizon(fires.iter().map(|fire| fire.at).collect())}
        <ol class="upcoming">{listed}</ol>
    }
    .into_any()
}

fn row(fire: &Upcoming) -> AnyView {
    let schedule = &fire.schedule;
    view! {
        <li>
            <a href=Route::Schedule(schedule.id.clone()).path()>{schedule.name.clone()}</a>
            {when_relative(fire.at, Some(schedule.timing.zone.clone()))}
        </li>
    }
    .into_any()
}
