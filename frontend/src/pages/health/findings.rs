//! The findings, each with advice, and a link to the objects that it counts.

use leptos::prelude::*;

use crate::{
    components::when_relative,
    model::{Finding, HealthSeverity, ScheduleLink},
    pages::{
        ledger::LOST_FIRES,
        watch::{watch, watch_in},
    },
    route::{Route, Scope},
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
    let namespace = finding.namespace.as_deref();
    let counted = counted(&finding.code).map(|listed| {
        let href = listed.searched(namespace, finding.search.as_deref());
        view! { <a class="button" href=href>{listed.words}</a> }.into_any()
    });
    let watched = watched(&finding.code).map(|on| match &finding.namespace {
        Some(namespace) => watch_in(namespace, on, finding.search.as_deref()),
        None => watch(on, finding.search.clone()),
    });
    let since = finding.since.map(|at| {
        view! { <span class="muted">"since "{when_relative(at, None)}</span> }.into_any()
    });
    let schedule = |schedule: &ScheduleLink| {
        let route = Route::Schedule(schedule.id.clone());
        let href = namespace.map_or_else(|| route.path(), |namespace| route.path_at(namespace));
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

/// The events of a rule that would report the finding. `None` for findings about the server itself, such as its disk
/// or its clock, which must be monitored from outside.
fn watched(code: &str) -> Option<&'static str> {
    Some(match code {
        // A fire for which no run is created is lost in the end.
        "missed" | "pending_handoffs" => "missed",
        "budgets" => "missed,failed,late,recovered",
        "late" => "late,recovered",
        "canary" => "missed,late",
        "failed" => "failed,recovered",
        "stalled" | "placement" | "places" | "claims" => "stalled,recovered",
        "scheduler" => "stalled,node_lost,recovered",
        "nodes" | "schedulers" | "workers" => "node_lost,recovered",
        _ => return None,
    })
}

/// The page with the objects that a check counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// The text of the link.
    words: &'static str,
    route: Route,
    query: &'static [(&'static str, &'static str)],
}

impl Listed {
    /// The address of that page. `namespace` is the measured namespace; `None` if all were measured.
    pub(super) fn href(&self, namespace: Option<&str>) -> String {
        self.searched(namespace, None)
    }

    /// The address of that page, narrowed by a search.
    fn searched(&self, namespace: Option<&str>, search: Option<&str>) -> String {
        // The cluster's page is the same for all namespaces.
        if self.route == Route::Cluster {
            return self.route.path();
        }
        let scope = namespace.map_or(Scope::All, |namespace| Scope::One(namespace.to_owned()));
        let own = self.query.iter().find(|(name, _)| *name == "q").map(|(_, terms)| *terms);
        let terms: Vec<&str> = own.into_iter().chain(search).collect();
        let terms = terms.join(" ");
        let rest = self.query.iter().copied().filter(|(name, _)| *name != "q");
        let query: Vec<(&str, &str)> = rest.chain([("q", terms.as_str())]).collect();
        self.route.narrowed_in(&scope, &query)
    }
}

/// The list of the objects that a check counts. Every check of the server has one.
pub(super) fn counted(code: &str) -> Option<Listed> {
    let (words, route, query): (_, _, &'static [(&'static str, &'static str)]) = match code {
        // The check counts decisions of the last hour, and the instant of a decision may be older.
        "missed" => ("The lost fires", Route::Ledger, &[("q", LOST_FIRES), ("range", "24h")]),
        "pending_handoffs" => {
            ("The open fires", Route::Ledger, &[("verdict", "open"), ("range", "7d")])
        }
        "late" => ("The late fires", Route::Runs, &[("q", "late:>5s")]),
        "budgets" => ("The lost fires", Route::Ledger, &[("q", LOST_FIRES), ("range", "24h")]),
        "canary" => ("The canary's fires", Route::Ledger, &[("q", "module:carillon")]),
        "failed" => ("The failed runs", Route::Runs, &[("state", "failed"), ("q", "finished:<1h")]),
        "stalled" | "placement" | "places" | "queues" => {
            ("The live runs", Route::Runs, &[("state", "live")])
        }
        "self_paused" => ("The paused schedules", Route::Schedules, &[("q", "state:paused")]),
        "history" => ("The quotas", Route::Namespaces, &[]),
        "database" | "writes" | "scheduler" | "nodes" | "schedulers" | "workers" | "clocks"
        | "clock_steps" | "zone_data" | "versions" | "schemas" | "cluster_backend" | "drained"
        | "this_node" | "redis" | "claims" | "brokers" => ("The cluster", Route::Cluster, &[]),
        _ => return None,
    };
    Some(Listed { words, route, query })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{counted, watched};
    use crate::{model::AlertEvent, route::Route};

    /// The names of all checks, from a table that the server's own tests compare with its checks.
    fn checks() -> Vec<&'static str> {
        let document = include_str!("../../../../docs/metrics.md");
        let table = document.split("| check | fails when |").nth(1).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect()
    }

    #[test]
    fn each_check_of_the_server_leads_to_what_it_counts() {
        let names = checks();
        assert!(names.contains(&"schemas") && names.contains(&"missed"), "{names:?}");
        for name in names {
            assert!(counted(name).is_some(), "{name} leads nowhere");
        }
        assert_eq!(counted("missed").unwrap().route, Route::Ledger);
        assert_eq!(counted("no such check"), None);
    }

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
                let read =
                    serde_json::from_value::<AlertEvent>(Value::from(event.to_ascii_uppercase()));
                assert!(read.is_ok(), "{code}: {event}");
            }
        }
        assert_eq!(watched("zone_data"), None);
    }
}
