//! One change: who, what, why, and what is otherwise since.

use leptos::prelude::*;

use super::diff::{Difference, differences};
use crate::{components::when_relative, model::AuditEvent, pages::filters::Filters, route::Route};

/// The row, and under it the differences, folded away.
pub(super) fn row(event: &AuditEvent, filters: Filters) -> AnyView {
    let differences = differences(event.before.as_ref(), event.after.as_ref());
    let narrowed = |name: &'static str, value: &str, words: String| {
        let href = filters.href(&[(name, value)]);
        view! { <a href=href>{words}</a> }.into_any()
    };
    let subject = match place(event) {
        Some(route) => view! { <a href=route.path()>{event.subject.clone()}</a> }.into_any(),
        None => event.subject.clone().into_any(),
    };
    let history = event.subject_id.as_ref().map(|id| {
        let href = filters.href(&[("id", id)]);
        view! { <a class="cell-note" href=href>"its history"</a> }.into_any()
    });
    let reason = event
        .reason
        .clone()
        .map(|reason| view! { <p class="audit-reason">"“"{reason}"”"</p> }.into_any());
    view! {
        <tr data-testid="audit-row">
            <td>{when_relative(event.at, None)}</td>
            <td>{narrowed("actor", &event.actor, event.actor.clone())}<span class="cell-note">{event.source.clone()}</span></td>
            <td class="code">{narrowed("action", &event.action, event.action.clone())}</td>
            <th scope="row" class="name-cell">{subject}{history}</th>
            <td class="why-cell">{reason}{changed(&differences)}</td>
        </tr>
    }
    .into_any()
}

/// Where what was changed is to be seen.
fn place(event: &AuditEvent) -> Option<Route> {
    let id = event.subject_id.clone()?;
    match event.action.split('.').next()? {
        "schedule" if event.action != "schedule.delete" => Some(Route::Schedule(id)),
        "run" => Some(Route::Run(id)),
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
