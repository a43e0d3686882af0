//! The counts that the rail shows.

use serde::Deserialize;

use super::HealthSeverity;
use crate::time::Moment;

/// The data behind the counts of the rail, for a namespace and the server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Tallies {
    overview: LiveRuns,
    alerts: Alerts,
    health: Health,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LiveRuns {
    live_runs: i64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Alerts {
    nodes: Vec<Alert>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Alert {
    acknowledged_at: Option<Moment>,
    rule: Option<Rule>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    muted_until: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Health {
    findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Finding {
    severity: HealthSeverity,
}

impl Tallies {
    pub(crate) fn live_runs(&self) -> i64 {
        self.overview.live_runs
    }

    /// The number of alerts that no one has acknowledged and whose rule is not muted: those on the first tab of the
    /// Alerts page.
    pub(crate) fn open_alerts(&self, now: Moment) -> usize {
        let is_open = |alert: &&Alert| {
            let muted_until = alert.rule.as_ref().and_then(|rule| rule.muted_until);
            alert.acknowledged_at.is_none() && muted_until.is_none_or(|until| until <= now)
        };
        self.alerts.nodes.iter().filter(is_open).count()
    }

    pub(crate) fn findings(&self) -> usize {
        self.health.findings.len()
    }

    pub(crate) fn is_critical(&self) -> bool {
        self.health.findings.iter().any(|finding| finding.severity == HealthSeverity::Critical)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_alert_counts_until_somebody_sees_to_it_or_its_rule_is_muted() {
        let now: Moment = serde_json::from_value(json!("2026-11-26T06:00:00Z")).unwrap();
        let tallies: Tallies = serde_json::from_value(json!({
            "overview": { "liveRuns": 3 },
            "alerts": { "nodes": [
                { "acknowledgedAt": null, "rule": null },
                { "acknowledgedAt": null, "rule": { "mutedUntil": "2026-11-26T05:00:00Z" } },
                { "acknowledgedAt": null, "rule": { "mutedUntil": "2026-11-26T07:00:00Z" } },
                { "acknowledgedAt": "2026-11-26T05:30:00Z", "rule": { "mutedUntil": null } },
            ] },
            "health": { "findings": [{ "severity": "WARNING" }, { "severity": "CRITICAL" }] },
        }))
        .unwrap();
        assert_eq!((tallies.live_runs(), tallies.open_alerts(now)), (3, 2));
        assert_eq!((tallies.findings(), tallies.is_critical()), (2, true));
    }
}
