//! The next fires of all schedules.

use leptos::prelude::*;

use crate::{
    components::{Horizon, When},
    model::Upcoming,
    route::Route,
    state::use_now,
};

/// How many are listed by name; the line shows all that were asked for.
const LISTED: usize = 10;

/// On a line, and the first of them in a list.
#[component]
pub(super) fn UpcomingFires(fires: Signal<Vec<Upcoming>>) -> impl IntoView {
    let instants =
        Signal::derive(move || fires.with(|fires| fires.iter().map(|fire| fire.at).collect()));
    let listed = move || fires.get().into_iter().take(LISTED).collect::<Vec<_>>();
    let row = |fire: Upcoming| {
        let zone = Some(fire.schedule.zone);
        view! {
            <li>
                <a href=Route::Schedule(fire.schedule.id).path()>{fire.schedule.name}</a>
                <When at=fire.at zone=zone is_relative=true/>
            </li>
        }
    };
    view! {
        <Show
            when=move || fires.with(|fires| !fires.is_empty())
            fallback=|| view! {
                <p class="empty">"Nothing is due. Fires appear here as soon as a schedule is active."</p>
            }
        >
            <Horizon fires=instants now=use_now()/>
            <ol class="upcoming">
                <For each=listed key=|fire| (fire.schedule.id.clone(), fire.at.millis() as i64) children=row/>
            </ol>
        </Show>
    }
}
