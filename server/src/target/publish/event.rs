//! Builds the CloudEvent of an attempt, and from it a message with headers.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::definition::{CloudEvent, ContentMode};
use crate::target::Invocation;

/// A message that can be converted for every broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The event's id, which is the same for all attempts.
    pub(super) id: String,
    pub(super) content_type: &'static str,
    /// The event's attributes that are not in the body. Each broker spells them differently.
    pub(super) attributes: Vec<(&'static str, String)>,
    /// The headers from the definition.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

const JSON: &str = "application/json";
const CLOUD_EVENT: &str = "application/cloudevents+json";
const TYPE: &str = "carillon.fire";

/// Builds the message of an attempt.
pub(super) fn compose(event: &CloudEvent, invocation: &Invocation, now: DateTime<Utc>) -> Message {
    let attributes = attributes(event, invocation, now);
    let data = json!({
        "id": invocation.idempotency_key,
        "namespace": invocation.namespace,
        "schedule_id": invocation.schedule_id,
        "schedule": invocation.schedule,
        // Not an attribute: as one it would be a header of a binary message, and SQS accepts only
        // ten headers, all of which may be in use.
        "version": invocation.schedule_version,
        "scheduled_at": invocation.scheduled_at.map(instant),
        "generated_at": instant(now),
        "run_id": invocation.run_id,
        "attempt": invocation.attempt,
        "payload": payload(event, invocation),
    });
    let headers = |(name, value): (&String, &crate::target::SecretText)| {
        (name.clone(), value.expose().to_owned())
    };
    let headers = event.headers.iter().map(headers).collect();
    let id = invocation.idempotency_key.clone();
    match event.mode {
        ContentMode::Binary => Message {
            id,
            content_type: JSON,
            attributes,
            headers,
            body: data.to_string().into_bytes(),
        },
        ContentMode::Structured => {
            let own = attributes.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
            let rest = [("datacontenttype", JSON.into()), ("data", data)];
            let rest = rest.map(|(name, value)| (name.to_owned(), value));
            let whole: Map<String, Value> = own.chain(rest).collect();
            let body = Value::Object(whole).to_string().into_bytes();
            Message { id, content_type: CLOUD_EVENT, attributes: Vec::new(), headers, body }
        }
    }
}

fn attributes(
    event: &CloudEvent,
    invocation: &Invocation,
    now: DateTime<Utc>,
) -> Vec<(&'static str, String)> {
    let source = event.source.clone().unwrap_or_else(|| source(invocation));
    let mut attributes = vec![
        ("specversion", "1.0".to_owned()),
        ("id", invocation.idempotency_key.clone()),
        ("source", source),
        ("type", event.kind.clone().unwrap_or_else(|| TYPE.to_owned())),
        ("time", instant(invocation.scheduled_at.unwrap_or(now))),
    ];
    let optional = [("subject", &event.subject), ("traceparent", &invocation.traceparent)];
    let optional = optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    attributes.extend(optional);
    attributes
}

/// The event's source: a reference as in RFC 3986, so names are escaped.
fn source(invocation: &Invocation) -> String {
    let escaped = |name: &str| -> String {
        url::form_urlencoded::byte_serialize(name.as_bytes())
            .collect::<String>()
            .replace('+', "%20")
    };
    let namespace = escaped(&invocation.namespace);
    match &invocation.schedule {
        Some(schedule) => format!("/carillon/{namespace}/{}", escaped(schedule)),
        None => format!("/carillon/{namespace}"),
    }
}

/// The event's payload: that of the definition, or the context. A text that contains a JSON object
/// or array is parsed, because templates often produce one.
fn payload(event: &CloudEvent, invocation: &Invocation) -> Value {
    match &event.payload {
        None => invocation.context.clone(),
        Some(Value::String(text)) if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(payload) => payload.clone(),
    }
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use uuid::Uuid;

    use super::*;

    fn invocation() -> Invocation {
        Invocation {
            run_id: Uuid::from_u128(7),
            attempt: 2,
            task: "main".to_owned(),
            namespace: "default".to_owned(),
            namespace_id: Uuid::nil(),
            priority: 0,
            schedule: Some("every night".to_owned()),
            schedule_id: Some(Uuid::from_u128(8)),
            schedule_version: Some(3),
            scheduled_at: DateTime::from_timestamp(1_700_000_000, 0),
            idempotency_key: "nightly-1700000000".to_owned(),
            traceparent: None,
            context: json!({ "customer": 42 }),
            timeout: Duration::from_secs(1),
            kill_grace: Duration::from_secs(1),
        }
    }

    fn made(event: Value) -> Message {
        let event: CloudEvent = serde_json::from_value(event).unwrap();
        compose(&event, &invocation(), DateTime::from_timestamp(1_700_000_001, 0).unwrap())
    }

    #[test]
    fn a_structured_event_is_one_json_object() {
        let message = made(json!({}));
        assert_eq!(message.content_type, "application/cloudevents+json");
        assert!(message.attributes.is_empty());
        let body: Value = serde_json::from_slice(&message.body).unwrap();
        assert_eq!(
            body,
            json!({
                "specversion": "1.0",
                "id": "nightly-1700000000",
                "source": "/carillon/default/every%20night",
                "type": "carillon.fire",
                "time": "2023-11-14T22:13:20Z",
                "datacontenttype": "application/json",
                "data": {
                    "id": "nightly-1700000000",
                    "namespace": "default",
                    "schedule_id": Uuid::from_u128(8),
                    "schedule": "every night",
                    "version": 3,
                    "scheduled_at": "2023-11-14T22:13:20Z",
                    "generated_at": "2023-11-14T22:13:21Z",
                    "run_id": Uuid::from_u128(7),
                    "attempt": 2,
                    "payload": { "customer": 42 },
                },
            })
        );
    }

    #[test]
    fn the_attributes_and_the_data_of_an_event_are_documented() {
        let page = include_str!("../../../../docs/publish.md");
        let (_, section) = page.split_once("\n## The event\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let table = |heading: &str| -> BTreeSet<&str> {
            let (_, rows) = section.split_once(heading).unwrap();
            let rows = rows.lines().take_while(|line| line.starts_with('|'));
            let cells = rows.filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
            cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `")).collect()
        };
        let fields = |event: &Value| -> BTreeSet<String> {
            event.as_object().unwrap().keys().cloned().collect()
        };
        let traced = Invocation { traceparent: Some("00-".to_owned()), ..invocation() };
        let event = CloudEvent { subject: Some("u".to_owned()), ..CloudEvent::default() };
        let sent = compose(&event, &traced, DateTime::UNIX_EPOCH);
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        let mut attributes = fields(&sent);
        attributes.remove("data");
        assert!(attributes.iter().eq(table("| attribute | value | missing |\n")));
        assert!(fields(&sent["data"]).iter().eq(table("| field | value | `null` |\n")));

        let example = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        let example: Value = serde_json::from_str(example).unwrap();
        assert_eq!(fields(&example["data"]), fields(&sent["data"]));
        assert!(fields(&example).is_subset(&fields(&sent)));
    }

    #[test]
    fn a_binary_event_has_its_data_as_body_and_its_attributes_beside_it() {
        let event = json!({ "mode": "binary", "type": "t", "source": "s", "subject": "u" });
        let message = made(event);
        assert_eq!(message.content_type, "application/json");
        let named = |name| message.attributes.iter().find(|(known, _)| *known == name);
        assert_eq!(named("type").unwrap().1, "t");
        assert_eq!(named("source").unwrap().1, "s");
        assert_eq!(named("subject").unwrap().1, "u");
        assert_eq!(named("id").unwrap().1, "nightly-1700000000");
        let body: Value = serde_json::from_slice(&message.body).unwrap();
        assert_eq!(body["payload"], json!({ "customer": 42 }));
    }

    #[test]
    fn a_payload_that_is_a_json_text_is_sent_as_json() {
        for (given, sent) in [
            (json!("{\"a\": 1}"), json!({ "a": 1 })),
            (json!("{a"), json!("{a")),
            (json!("7"), json!("7")),
            (json!([1]), json!([1])),
        ] {
            let body: Value =
                serde_json::from_slice(&made(json!({ "payload": given })).body).unwrap();
            assert_eq!(body["data"]["payload"], sent);
        }
    }
}
