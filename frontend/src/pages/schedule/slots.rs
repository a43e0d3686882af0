//! The last seven days in one line: the number of instants that were due, their outcomes, and a better interval.

use leptos::prelude::*;

use crate::{
    api,
    components::live,
    data::{Load, use_load},
    model::{ScheduleDetail, SlotAccount},
    route::Route,
    state::use_session,
};

/// The line of the schedule with this id. It is reloaded together with the schedule.
pub(super) fn slots(id: String, load: Load<ScheduleDetail>) -> AnyView {
    let session = use_session();
    let key = id.clone();
    let account = use_load(move || {
        load.with(|schedule| schedule.row.last_fire_at)?;
        Some(api::slots(key.clone()))
    });
    live(move || {
        let edits = session.edits();
        let line = account.with(|account| line(account, edits.then(|| id.clone())));
        line.unwrap_or_else(|| ().into_any())
    })
}

fn line(account: &SlotAccount, edits: Option<String>) -> AnyView {
    if account.expected == 0 {
        return ().into_any();
    }
    let part = |count: i64, words: &str| (count > 0).then(|| format!("{count} {words}"));
    let crowded = format!("skipped, {} of them because of a blocking run", account.overlapped);
    let skipped = if account.overlapped > 0 { crowded.as_str() } else { "skipped" };
    let parts = [
        Some(format!("{} ran", account.ran)),
        part(account.skipped, skipped),
        part(account.missed, "lost"),
        part(account.open, "open"),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let pace = account.pace().map(|pace| format!(" {pace}."));
    let advice = account.advice().map(|advice| {
        let change = edits.map(|id| {
            let href = Route::EditSchedule(id).path();
            view! { " "<a href=href>"Change the schedule"</a> }.into_any()
        });
        view! { <p class="slots-advice">{advice}"."{change}</p> }.into_any()
    });
    view! {
        <section class="slots" aria-label="Fires of the last 7 days" data-testid="slots">
            <p>
                <strong>"Last 7 days: "</strong>
                {format!("{} expected, {parts}.", account.expected)}
                <span class="muted">{pace}</span>
            </p>
            {advice}
        </section>
    }
    .into_any()
}
