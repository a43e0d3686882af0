//! Formats alerts for incident services: one event per alert, under a stable key.
//! A repeated event does not open a second incident, and the end of an alert closes its incident.

use serde_json::{Map, Value, json};

use super::{ChannelCall, ENDED_LEFT_OUT};
use crate::model::shortened;

/// Length limits in characters: PagerDuty's limit for a summary, Opsgenie's limit for a message.
const MAX_SUMMARY: usize = 1_024;
const MAX_MESSAGE: usize = 130;
/// Carillon's own length limit for error texts, which can be megabytes.
const MAX_DESCRIPTION: usize = 4_000;

/// An event for an alert, or for a message that lists no alerts.
struct IncidentEvent<'a> {
    key: String,
    is_over: bool,
    severity: Severity,
    summary: &'a str,
    alert: &'a Value,
}

#[derive(Clone, Copy)]
enum Severity {
    Error,
    Warning,
    /// A test message.
    Info,
}

impl Severity {
    /// The severity of a kind of alert.
    fn of(kind: &str) -> Self {
        if kind == "late" { Self::Warning } else { Self::Error }
    }

    fn pagerduty(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    fn opsgenie(self) -> &'static str {
        match self {
            Self::Error => "P2",
            Self::Warning => "P3",
            Self::Info => "P5",
        }
    }
}

/// The events of a message: one for each listed alert, one for each other alert that is over, and
/// one for all others that are only counted. A test message opens an incident and closes it again.
fn events<'a>(message: &str, body: &'a Value) -> Vec<IncidentEvent<'a>> {
    let summary = body["summary"].as_str().unwrap_or_default();
    if body["rule"].is_null() {
        let test = |is_over| IncidentEvent {
            key: format!("carillon-test-{message}"),
            is_over,
            severity: Severity::Info,
            summary,
            alert: &Value::Null,
        };
        return vec![test(false), test(true)];
    }
    let alerts = body["alerts"].as_array().into_iter().flatten();
    let mut events: Vec<IncidentEvent<'_>> = alerts
        .map(|alert| IncidentEvent {
            key: format!("carillon-{}", alert["id"].as_str().unwrap_or_default()),
            is_over: alert["state"] == "recovered",
            severity: Severity::of(alert["kind"].as_str().unwrap_or_default()),
            summary: alert["text"].as_str().unwrap_or_default(),
            alert,
        })
        .collect();
    let ended = body[ENDED_LEFT_OUT].as_array().into_iter().flatten();
    let ended = ended.map(|id| IncidentEvent {
        key: format!("carillon-{}", id.as_str().unwrap_or_default()),
        is_over: true,
        severity: Severity::Error,
        summary,
        alert: &Value::Null,
    });
    let listed = events.len();
    events.extend(ended);
    let begun = body["left_out"].as_i64().unwrap_or(0);
    let begun = begun.saturating_sub_unsigned((events.len() - listed) as u64);
    if begun > 0 {
        events.push(IncidentEvent {
            key: format!("carillon-more-{message}"),
            is_over: false,
            severity: Severity::Error,
            summary,
            alert: &Value::Null,
        });
    }
    events
}

/// The requests to PagerDuty's Events API, version 2. The channel adds the routing key.
pub(super) fn pagerduty(message: &str, body: &Value) -> Vec<ChannelCall> {
    let source = source(body);
    let call = |event: IncidentEvent<'_>| {
        let mut told = json!({
            "event_action": if event.is_over { "resolve" } else { "trigger" },
            "dedup_key": event.key,
            "client": "Carillon",
            "payload": {
                "summary": shortened(event.summary, MAX_SUMMARY),
                "source": source,
                "severity": event.severity.pagerduty(),
                "component": event.alert["schedule"]["name"],
                "group": body["namespace"],
                "class": event.alert["kind"],
                "custom_details": details(body, event.alert),
            },
        });
        if let Some(began_at) = event.alert["began_at"].as_str() {
            told["payload"]["timestamp"] = began_at.into();
        }
        if let Some(url) = event.alert["url"].as_str() {
            told["client_url"] = url.into();
            told["links"] = json!([{ "href": url, "text": "Open in Carillon" }]);
        }
        ChannelCall { below: None, body: told }
    };
    events(message, body).into_iter().map(call).collect()
}

/// The requests to Opsgenie's Alert API.
pub(super) fn opsgenie(message: &str, body: &Value) -> Vec<ChannelCall> {
    let source = source(body);
    let call = |event: IncidentEvent<'_>| {
        if event.is_over {
            return ChannelCall {
                below: Some(format!("{}/close?identifierType=alias", event.key)),
                body: json!({ "source": source, "note": shortened(event.summary, MAX_DESCRIPTION) }),
            };
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let error = event.alert["error"].as_str().unwrap_or(event.summary);
        let tags = ["carillon".to_owned(), text(&body["namespace"]), text(&event.alert["kind"])];
        let told = json!({
            "message": shortened(event.summary, MAX_MESSAGE),
            "alias": event.key,
            "description": shortened(error, MAX_DESCRIPTION),
            "entity": text(&event.alert["schedule"]["name"]),
            "source": source,
            "priority": event.severity.opsgenie(),
            "tags": tags.into_iter().filter(|tag| !tag.is_empty()).collect::<Vec<_>>(),
            "details": details(body, event.alert),
        });
        ChannelCall { below: None, body: told }
    };
    events(message, body).into_iter().map(call).collect()
}

fn source(body: &Value) -> String {
    format!("carillon/{}", body["namespace"].as_str().unwrap_or_default())
}

/// The facts that the person on call needs. Opsgenie accepts only strings.
fn details(body: &Value, alert: &Value) -> Map<String, Value> {
    let said = [
        ("rule", body["rule"]["name"].as_str()),
        ("kind", alert["kind"].as_str()),
        ("began_at", alert["began_at"].as_str()),
        ("run_id", alert["run_id"].as_str()),
        ("error", alert["error"].as_str()),
        ("url", alert["url"].as_str()),
    ];
    let said = said.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let mut details: Map<String, Value> = said
        .map(|(name, text)| (name.to_owned(), shortened(text, MAX_DESCRIPTION).into()))
        .collect();
    if let Some(count) = alert["count"].as_i64() {
        details.insert("count".to_owned(), count.to_string().into());
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(left_out: i64) -> Value {
        let alert = |id: &str, kind: &str, state: &str| {
            json!({
                "id": id, "kind": kind, "state": state, "text": format!("nightly {kind}"),
                "schedule": { "id": "s", "name": "nightly" }, "count": 3,
                "began_at": "2026-03-01T12:00:00Z", "run_id": "r", "error": "exit code 1",
                "url": "https://cron.example/runs/r",
            })
        };
        json!({
            "namespace": "billing", "rule": { "id": "1", "name": "all" }, "summary": "3 failed",
            "total": 3, "left_out": left_out,
            "alerts": [alert("a", "failed", "open"), alert("b", "late", "happened"),
                alert("c", "failed", "recovered")],
        })
    }

    #[test]
    fn pagerduty_gets_an_event_for_each_alert_and_the_end_of_one_resolves_it() {
        let calls = pagerduty("m", &body(0));
        let seen: Vec<_> = calls
            .iter()
            .map(|call| {
                let at = |key: &str| call.body[key].as_str().unwrap().to_owned();
                let severity = call.body["payload"]["severity"].as_str().unwrap().to_owned();
                (at("event_action"), at("dedup_key"), severity)
            })
            .collect();
        let expect = |action: &str, key: &str, severity: &str| {
            (action.to_owned(), key.to_owned(), severity.to_owned())
        };
        assert_eq!(
            seen,
            [
                expect("trigger", "carillon-a", "error"),
                expect("trigger", "carillon-b", "warning"),
                expect("resolve", "carillon-c", "error"),
            ]
        );
        let first = &calls[0].body;
        assert_eq!(first["payload"]["source"], "carillon/billing");
        assert_eq!(first["payload"]["custom_details"]["count"], "3");
        assert_eq!(first["links"][0]["href"], "https://cron.example/runs/r");
    }

    #[test]
    fn alerts_that_a_message_only_counts_become_one_event() {
        let calls = pagerduty("m", &body(9_997));
        assert_eq!(calls.len(), 4);
        assert_eq!(calls[3].body["dedup_key"], "carillon-more-m");
        assert_eq!(calls[3].body["payload"]["summary"], "3 failed");
    }

    #[test]
    fn alerts_that_are_over_are_closed_even_if_a_message_only_counts_them() {
        let mut body = body(3);
        body[ENDED_LEFT_OUT] = json!(["d", "e"]);
        let seen: Vec<_> = pagerduty("m", &body)[3..]
            .iter()
            .map(|call| (call.body["event_action"].clone(), call.body["dedup_key"].clone()))
            .collect();
        let expect = [("resolve", "d"), ("resolve", "e"), ("trigger", "more-m")];
        let expect = expect.map(|(action, key)| (json!(action), json!(format!("carillon-{key}"))));
        assert_eq!(seen, expect);
        body["left_out"] = 2.into();
        let calls = opsgenie("m", &body);
        assert_eq!(calls.len(), 5, "nothing began");
        let close = calls[4].below.as_deref();
        assert_eq!(close, Some("carillon-e/close?identifierType=alias"));
    }

    #[test]
    fn opsgenie_gets_alerts_by_alias_and_closes_them_by_it() {
        let calls = opsgenie("m", &body(0));
        assert_eq!(calls[0].body["alias"], "carillon-a");
        assert_eq!((&calls[0].body["priority"], &calls[0].below), (&json!("P2"), &None));
        assert_eq!(calls[1].body["priority"], "P3");
        let close = calls[2].below.as_deref();
        assert_eq!(close, Some("carillon-c/close?identifierType=alias"));
        let long = "é".repeat(5_000);
        let mut body = body(0);
        body["alerts"][0]["text"] = long.clone().into();
        body["alerts"][0]["error"] = long.into();
        let alert = &opsgenie("m", &body)[0].body;
        assert_eq!(alert["message"].as_str().unwrap().chars().count(), MAX_MESSAGE);
        assert_eq!(alert["description"].as_str().unwrap().chars().count(), MAX_DESCRIPTION);
    }

    #[test]
    fn a_test_opens_an_incident_and_closes_it() {
        let body = json!({ "namespace": "billing", "rule": null, "summary": "a test",
            "total": 0, "left_out": 0, "alerts": [] });
        let actions: Vec<_> = pagerduty("m", &body)
            .iter()
            .map(|call| (call.body["event_action"].clone(), call.body["dedup_key"].clone()))
            .collect();
        let key = json!("carillon-test-m");
        assert_eq!(actions, [(json!("trigger"), key.clone()), (json!("resolve"), key)]);
        let calls = opsgenie("m", &body);
        assert_eq!(calls[0].body["priority"], "P5");
        assert!(calls[1].below.as_deref().unwrap().starts_with("carillon-test-m/close"));
    }
}
