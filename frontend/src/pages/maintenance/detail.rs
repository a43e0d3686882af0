//! One window.

use leptos::prelude::*;

use super::{LOOK, actions::use_actions, fires_of, missed_words, schedules_of};
use crate::{
    api,
    components::{AsyncView, Mark, badge, fact, is_id, panel, ticket, when, when_relative},
    data::use_load,
    model,
    pages::{
        NotFound,
        kit::{self, none},
    },
    state::{use_every, use_title},
    time::amount,
};

/// The page of one window. A malformed id is not sent to the server.
#[component]
pub(crate) fn MaintenanceWindow(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    let window = use_load(move || Some(api::maintenance::window(id.clone())));
    let loading = window.loading;
    kit::settle(window, |window| &window.namespace);
    use_title(move || {
        let title = window.with(|window| window.title.clone());
        title.unwrap_or_else(|| "Maintenance".to_owned())
    });
    use_every(LOOK, move || {
        if untrack(|| window.with(model::MaintenanceWindow::is_open)) != Some(false) {
            loading.refresh();
        }
    });
    let actions = use_actions(loading);
    let head = move |row: &model::MaintenanceWindow| {
        view! {
            <header class="page-head">
                <h1>{row.title.clone()}</h1>
                <span role="status" data-testid="maintenance-state">
                    {badge(Mark::Maintenance(row.state))}
                </span>
                <div class="actions">{actions.of(row)}</div>
            </header>
        }
        .into_any()
    };
    view! {
        <AsyncView loading=loading what="the maintenance window">
            {window.draw(head)}
            {window.draw(facts)}
        </AsyncView>
        {actions.dialogs()}
    }
}

fn facts(row: &model::MaintenanceWindow) -> AnyView {
    let ticket = row.ticket.as_ref().map_or_else(none, |text| ticket(text));
    let search = match row.search() {
        "" => "every schedule of the namespace".into_any(),
        search => view! { <code>{search.to_owned()}</code> }.into_any(),
    };
    let count = amount(row.schedule_count, "schedule", "schedules");
    let schedules = view! { <a href=schedules_of(row)>{count}</a>": "{search} };
    let fires = fires_of(row).map(|href| {
        let link = view! { <a href=href>"in the ledger"</a> };
        fact("Its fires", link)
    });
    let planned =
        view! { {when_relative(row.planned_at, None)}{format!(" by {}", row.planned_by)} };
    let cancelled = row.cancelled_at.map(|at| {
        let by = row.cancelled_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let why = row.cancel_reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        fact("Cancelled", view! { {when_relative(at, None)}{by}{why} })
    });
    let declared = row.module.as_ref().map(|module| fact("Declared by the module", module.clone()));
    let content = view! {
        <dl class="facts">
            {fact("Begins", when_relative(row.starts_at, None))}
            {fact("Ends", when(row.ends_at, None))}
            {fact("Pauses", schedules)}
            {fact("Missed fires, at its end", missed_words(row.missed))}
            {fact("Ticket", ticket)}
            {fact("Planned", planned)}
            {declared}
            {cancelled}
            {fires}
        </dl>
    };
    panel("Maintenance window", (), content)
}
