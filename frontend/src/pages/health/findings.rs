//! The findings: each with what to do, and a link to the objects that it counts.

use leptos::prelude::*;

use crate::{
    components::when_relative,
    model::{Finding, HealthSeverity, ScheduleLink},
    pages::watch::watch,
    route::Route,
};

pub(super) fn findings(findings: &[Finding]) -> AnyView {
    if findings.is_empty() {
        return view! {
            <div class="empty">
                <p class="empty-title">"Nothing is wrong"</p>
                <p>"Every check below is within its limit."</p>
            </div>
        }
        .into_any();
    }
    view! { <ul class="findings">{findings.iter().map(item).collect::<Vec<_>>()}</ul> }.into_any()
}

fn item(finding: &Finding) -> AnyView {
    let (state, word) = match finding.severity {
        HealthSeverity::Critical => ("failed", "Critical"),
        HealthSeverity::Warning => ("paused", "Warning"),
    };
    let limit = finding.limit.clone().map(|limit| format!("{} of at most {limit}", finding.value));
    let figure = limit.unwrap_or_else(|| finding.value.clone());
    let counted = counted(&finding.code)
        .map(|(words, href)| view! { <a class="button" href=href>{words}</a> }.into_any());
    let watched = watched(&finding.code).map(|on| watch(on, None));
    let since = finding.since.map(|at| {
        view! { <span class="muted">"since "{when_relative(at, None)}</span> }.into_any()
    });
    let schedule = |schedule: &ScheduleLink| {
        let href = Route::Schedule(schedule.id.clone()).path();
        view! { <li><a href=href>{schedule.name.clone()}</a></li> }.into_any()
    };
    let schedules: Vec<_> = finding.schedules.iter().map(schedule).collect();
    let node = |name: &String| {
        view! { <li><a href=Route::Cluster.path()>{name.clone()}</a></li> }.into_any()
    };
    let nodes: Vec<_> = finding.nodes.iter().map(node).collect();
    view! {
        <li class="finding" data-state=state data-testid="finding" data-code=finding.code.clone()>
            <div class="finding-head">
                <span class="badge" data-state=state>{word}</span>
                <h3>{finding.message.clone()}</h3>
            </div>
            <p class="finding-help">{finding.help.clone()}</p>
            <div class="finding-foot">
                <span class="code">{figure}</span>
                {finding.namespace.clone().map(|name| view! { <span class="muted">"in "{name}</span> }.into_any())}
                {since}
                {counted}
                {watched}
            </div>
            {named("Schedules", schedules)}
            {named("Nodes", nodes)}
        </li>
    }
    .into_any()
}

fn named(label: &'static str, items: Vec<AnyView>) -> AnyView {
    if items.is_empty() {
        return ().into_any();
    }
    view! { <ul class="finding-names" aria-label=label>{items}</ul> }.into_any()
}

/// The events of a rule that would report it.
fn watched(code: &str) -> Option<&'static str> {
    Some(match code {
        "missed" => "missed",
        "failed" => "failed,recovered",
        "stalled" | "placement" | "places" | "claims" => "stalled,recovered",
        "nodes" | "scheduler" => "node_lost,recovered",
        _ => return None,
    })
}

/// The list of the objects that a check counts, and the text of the link.
pub(super) fn counted(code: &str) -> Option<(&'static str, String)> {
    let ledger = |verdict: &str| Route::Ledger.narrowed(&[("verdict", verdict)]);
    let runs = |state: &str| Route::Runs.narrowed(&[("state", state)]);
    Some(match code {
        "missed" => ("The lost fires", ledger("missed")),
        "pending_handoffs" => ("The open fires", ledger("open")),
        "failed" => ("The failed runs", runs("failed")),
        "stalled" | "placement" | "places" => ("The live runs", runs("live")),
        "scheduler" | "nodes" | "clocks" | "zone_data" | "versions" | "schema" | "redis"
        | "writes" | "claims" => ("The cluster", Route::Cluster.path()),
        _ => return None,
    })
}
