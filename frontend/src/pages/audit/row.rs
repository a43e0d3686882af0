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
        // A run that repeats another one is an event of its schedule; `after` names the run.
        ("run", _) => made_run(event).or_else(id).map(Route::Run),
        ("module", "deploy" | "adopt_drift" | "revert_drift") => {
            Some(Route::module(&event.subject))
        }
        ("schedule" | "buffer" | "problem", _) => id().map(Route::Schedule),
        ("workflow", _) => id().map(Route::Workflow),
        ("backfill", _) => id().map(Route::Backfill),
        ("calendar", _) => id().map(Route::EditCalendar),
        ("alert_rule", _) => id().map(Route::EditAlertRule),
        ("maintenance", _) => id().map(Route::MaintenanceWindow),
        ("group", _) => Some(Route::Groups),
        ("secret", _) => Some(Route::Secrets),
        ("token" | "session", _) => Some(Route::Tokens),
        ("membership" | "user", _) => Some(Route::People),
        ("namespace", _) => Some(Route::Namespaces),
        ("node" | "worker_queue", _) => Some(Route::Cluster),
        ("feed", _) => Some(Route::Feeds),
        ("alert_channel", _) => Some(Route::AlertRules),
        ("alert" | "notification", _) => Some(Route::Alerts),
        ("health_budget", _) => Some(Route::Health),
        _ => None,
    }
}

/// The run that the change created.
fn made_run(event: &AuditEvent) -> Option<String> {
    event.after.as_ref()?.get("run")?.as_str().map(str::to_owned)
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(action: &str, after: Value) -> AuditEvent {
        serde_json::from_value(json!({
            "id": "e", "at": "2026-11-26T05:00:00Z", "actor": "ada", "source": "console",
            "namespace": "default", "action": action, "subjectId": "an-id", "subject": "nightly",
            "reason": null, "before": null, "after": after,
        }))
        .unwrap()
    }

    #[test]
    fn a_change_leads_to_what_it_changed() {
        let place = |action, after| place(&event(action, after));
        let id = || "an-id".to_owned();
        assert_eq!(place("schedule.pause", Value::Null), Some(Route::Schedule(id())));
        assert_eq!(place("schedule.delete", Value::Null), None);
        assert_eq!(place("run.cancel", Value::Null), Some(Route::Run(id())));
        let made = json!({ "run": "new", "scheduledAt": "2026-11-26T05:00:00Z" });
        assert_eq!(place("run.retry", made), Some(Route::Run("new".to_owned())));
        assert_eq!(place("group.update", Value::Null), Some(Route::Groups));
        assert_eq!(place("target.test", Value::Null), None);
    }
}
