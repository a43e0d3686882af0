//! The findings: each with what to do, and a link to the objects that it counts.

use leptos::prelude::*;

use crate::{
    components::when_relative,
    model::{Finding, HealthSeverity, ScheduleLink},
    pages::watch::{watch, watch_in},
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
    let watched = watched(&finding.code).map(|on| match &finding.namespace {
        Some(namespace) => watch_in(namespace, on),
        None => watch(on, None),
    });
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

/// The events of a rule that would report it; none if it is about the server itself, such as its disk or its clock:
/// that is watched from outside.
fn watched(code: &str) -> Option<&'static str> {
    Some(match code {
        // A fire that nothing is created for ends as a lost one.
        "missed" | "pending_handoffs" => "missed",
        "canary" => "missed,late",
        "failed" => "failed,recovered",
        "stalled" | "placement" | "places" | "claims" => "stalled,recovered",
        "scheduler" => "stalled,node_lost,recovered",
        "nodes" | "schedulers" | "workers" => "node_lost,recovered",
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::watched;
    use crate::model::AlertEvent;

    #[test]
    fn a_rule_that_watches_a_finding_has_events_of_the_api() {
        for code in [
            "missed",
            "pending_handoffs",
            "canary",
            "failed",
            "stalled",
            "placement",
            "places",
            "claims",
            "scheduler",
            "nodes",
            "schedulers",
            "workers",
        ] {
            for event in watched(code).unwrap().split(',') {
                let read = serde_json::from_value::<AlertEvent>(Value::from(event.to_uppercase()));
                assert!(read.is_ok(), "{code}: {event}");
            }
        }
        assert_eq!(watched("zone_data"), None);
    }
}
