//! Every action on the schedule, with the user and the reason. Only administrators see this tab.

use std::time::Duration;

use leptos::prelude::*;

use crate::{
    api,
    components::{
        AsyncView, Column, Dialog, Look, RowName, Table, When, button, diff, empty, live, pager,
    },
    data::use_listing,
    model::{AuditRow, Role, Row},
    pages::{cursors, place},
    state::{use_address, use_every, use_session},
};

const SIZE: usize = 50;
/// How often the entries are polled, because there is no subscription for them.
const LOOK: Duration = Duration::from_secs(10);

/// The tab with the audit log.
pub(in crate::pages) fn tab(id: StoredValue<String>) -> AnyView {
    view! { <Audit schedule=id.get_value()/> }.into_any()
}

#[component]
fn Audit(schedule: String) -> impl IntoView {
    let session = use_session();
    live(move || {
        if session.role() == Some(Role::Admin) {
            view! { <Entries schedule=schedule.clone()/> }.into_any()
        } else {
            let words = "The audit log is for administrators of the namespace. The versions show who changed the definition.";
            view! { <div class="empty">{empty("Not permitted", words, ())}</div> }.into_any()
        }
    })
}

#[component]
fn Entries(schedule: String) -> impl IntoView {
    let address = use_address();
    let entries = use_listing(SIZE, move || {
        api::schedule_audit(address.namespace(), schedule.clone(), place(address), SIZE)
    });
    use_every(LOOK, move || entries.load.loading.refresh());
    let (open, meant) = (RwSignal::new(false), RwSignal::new(None::<String>));
    let name =
        |entry: &AuditRow| RowName { name: entry.action.clone(), test: "audit-row", state: "" };
    let table = move || {
        Table::new("Audit", entries.list, columns(), name)
            .actions(move |entry: &AuditRow| {
                if entry.before.is_none() && entry.after.is_none() {
                    return ().into_any();
                }
                let id = entry.id.clone();
                button(Look::Plain, None, "What changed", move || {
                    meant.set(Some(id.clone()));
                    open.set(true);
                })
            })
            .view()
    };
    let changed = move || {
        let entry = meant.get().and_then(|id| {
            entries.load.with(|page| page.rows.iter().find(|row| row.id() == id).cloned()).flatten()
        });
        entry.map_or_else(
            || ().into_any(),
            |entry| {
                let [before, after] =
                    [&entry.before, &entry.after].map(|value| value.clone().unwrap_or_default());
                diff(&before, &after)
            },
        )
    };
    view! {
        <AsyncView
            loading=entries.load.loading
            what="the audit log"
            is_empty=Signal::derive(move || entries.list.is_empty())
            empty=|| empty("No entry", "Every action on this schedule is recorded here.", ())
        >
            {table()}
            {pager(entries.beside(), "the audit log", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        <Dialog open=open title="What changed">{live(changed)}</Dialog>
    }
}

fn columns() -> Vec<Column> {
    let text = |text: &str| text.to_owned().into_any();
    vec![
        Column::new("at", "At", |entry: &AuditRow| When::new(entry.at).far().view()),
        Column::new("actor", "By", move |entry: &AuditRow| text(&entry.actor)),
        Column::new("action", "Action", move |entry: &AuditRow| text(&entry.action)).head(),
        Column::new("reason", "Reason", move |entry: &AuditRow| {
            text(entry.reason.as_deref().unwrap_or_default())
        })
        .class("why-cell"),
        Column::new("source", "From", move |entry: &AuditRow| text(&entry.source)).class("wide"),
    ]
}
