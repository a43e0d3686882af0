//! One change of the audit log.

use leptos::prelude::*;

use super::{
    diff::{Difference, differences},
    query,
};
use crate::{
    components::{Column, when_relative},
    model::AuditEvent,
    pages::filters::Filters,
    route::Route,
};

/// The columns: time, person, action, object and reason, with the differences; across all namespaces also the
/// namespace.
pub(super) fn columns(filters: Filters, is_across: bool) -> Vec<Column> {
    let narrowed = move |name: &'static str, value: &str| {
        let (href, words) = (query::href(filters, name, value), value.to_owned());
        view! { <a href=href>{words}</a> }.into_any()
    };
    let mut columns = vec![
        Column::new("when", "When", |event: &AuditEvent| when_relative(event.at, None)),
        Column::new("who", "Who", move |event: &AuditEvent| {
            view! { {narrowed("actor", &event.actor)}<span class="cell-note">{event.source.clone()}</span> }
                .into_any()
        }),
        Column::new("action", "Action", move |event: &AuditEvent| {
            narrowed("action", &event.action)
        })
        .class("code"),
        Column::new("subject", "Subject", move |event: &AuditEvent| subject(event, filters)).head(),
        Column::new("what", "Why and what", |event: &AuditEvent| {
            let differences = differences(event.before.as_ref(), event.after.as_ref());
            let reason = event
                .reason
                .clone()
                .map(|reason| view! { <p class="audit-reason">"“"{reason}"”"</p> }.into_any());
            view! { {reason}{changed(&differences)} }.into_any()
        })
        .class("why-cell"),
    ];
    if is_across {
        // A change of the whole instance, such as of a user, belongs to no namespace.
        let namespace = |event: &AuditEvent| match event.namespace.clone() {
            Some(namespace) => namespace.into_any(),
            None => view! { <span class="muted">"–"</span> }.into_any(),
        };
        columns.insert(4, Column::new("namespace", "Namespace", namespace));
    }
    columns
}

fn subject(event: &AuditEvent, filters: Filters) -> AnyView {
    let name = match place(event) {
        Some(route) => {
            let home = event.namespace.as_ref();
            let href = home.map_or_else(|| route.path(), |home| route.path_at(home));
            view! { <a href=href>{event.subject.clone()}</a> }.into_any()
        }
        None => event.subject.clone().into_any(),
    };
    let history = event.subject_id.as_ref().map(|id| {
        let href = query::href(filters, "id", id);
        view! { <a class="cell-note" href=href>"its history"</a> }.into_any()
    });
    view! { {name}{history} }.into_any()
}

/// The page that shows the changed object.
fn place(event: &AuditEvent) -> Option<Route> {
    let (kind, action) = event.action.split_once('.')?;
    let id = || event.subject_id.clone();
    match (kind, action) {
        // A deleted object has no page.
        (_, "delete") => None,
        ("module", "deploy") => Some(Route::module(&event.subject)),
        ("schedule" | "buffer", _) => id().map(Route::Schedule),
        ("run", _) => id().map(Route::Run),
        ("workflow", _) => id().map(Route::Workflow),
        ("backfill", _) => id().map(Route::Backfill),
        ("calendar", _) => id().map(Route::EditCalendar),
        ("alert_rule", _) => id().map(Route::EditAlertRule),
        ("maintenance", _) => id().map(Route::MaintenanceWindow),
        _ => None,
    }
}

fn changed(differences: &[Difference]) -> AnyView {
    let summary = match differences {
        [] => return ().into_any(),
        [one] if !one.path.is_empty() => one.path.clone(),
        [_] => "1 change".to_owned(),
        more => format!("{} changes", more.len()),
    };
    let side = |text: &Option<String>, kind: &'static str, name: &'static str| {
        let text = text.clone()?;
        Some(
            view! { <span class="diff-side" data-side=kind><span class="visually-hidden">{name}</span>{text}</span> }
                .into_any(),
        )
    };
    let line = |line: &Difference| {
        view! {
            <div class="diff-line">
                <dt>{line.path.clone()}</dt>
                <dd>
                    {side(&line.before, "before", "before: ")}
                    {side(&line.after, "after", "after: ")}
                </dd>
            </div>
        }
        .into_any()
    };
    let lines: Vec<_> = differences.iter().map(line).collect();
    view! {
        <details class="output diff">
            <summary>{summary}</summary>
            <dl>{lines}</dl>
        </details>
    }
    .into_any()
}
