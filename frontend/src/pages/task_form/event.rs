//! An event for a broker, in the shape that the API accepts. The API has defaults for omitted
//! fields.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::Pair;

/// An event, and its destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::pages) struct PublishAction {
    pub(in crate::pages) to: BrokerAction,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::pages) event: EventAction,
}

/// A broker, and a place in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::pages) enum BrokerAction {
    Kafka(KafkaAction),
    Nats(NatsAction),
    Rabbitmq(RabbitmqAction),
    Redis(RedisAction),
    Sqs(SqsAction),
}

/// The addresses and the sign-in of a broker's servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::pages) struct AddressAction {
    pub(in crate::pages) servers: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(in crate::pages) tls: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) password: Option<String>,
}

/// A topic of Kafka.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::pages) struct KafkaAction {
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::pages) connection: AddressAction,
    #[serde(default = "usual_sasl", skip_serializing_if = "is_usual_sasl")]
    pub(in crate::pages) sasl: String,
    #[serde(default)]
    pub(in crate::pages) topic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) partition: Option<String>,
}

fn usual_sasl() -> String {
    "PLAIN".to_owned()
}

fn is_usual_sasl(sasl: &str) -> bool {
    sasl == "PLAIN"
}

/// A subject of NATS JetStream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::pages) struct NatsAction {
    #[serde(skip_serializing_if = "is_default")]
    pub(in crate::pages) connection: AddressAction,
    pub(in crate::pages) subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) stream: Option<String>,
}

/// An exchange of RabbitMQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::pages) struct RabbitmqAction {
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::pages) connection: AddressAction,
    #[serde(default = "usual_vhost", skip_serializing_if = "is_usual_vhost")]
    pub(in crate::pages) vhost: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::pages) exchange: String,
    #[serde(default)]
    pub(in crate::pages) routing_key: String,
}

fn usual_vhost() -> String {
    "/".to_owned()
}

fn is_usual_vhost(vhost: &str) -> bool {
    vhost == "/"
}

/// A stream of Redis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::pages) struct RedisAction {
    #[serde(skip_serializing_if = "is_default")]
    pub(in crate::pages) connection: AddressAction,
    #[serde(skip_serializing_if = "is_default")]
    pub(in crate::pages) database: i64,
    pub(in crate::pages) stream: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) max_length: Option<i64>,
}

/// A queue of Amazon SQS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::pages) struct SqsAction {
    pub(in crate::pages) queue_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) region: Option<String>,
    pub(in crate::pages) access_key_id: String,
    pub(in crate::pages) secret_access_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) session_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) group: Option<String>,
}

/// A CloudEvent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::pages) struct EventAction {
    #[serde(default = "usual_mode", skip_serializing_if = "is_usual_mode")]
    pub(in crate::pages) mode: String,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::pages) headers: Vec<Pair>,
}

impl Default for EventAction {
    fn default() -> Self {
        Self {
            mode: usual_mode(),
            kind: None,
            source: None,
            subject: None,
            payload: None,
            headers: vec![],
        }
    }
}

fn usual_mode() -> String {
    "STRUCTURED".to_owned()
}

fn is_usual_mode(mode: &str) -> bool {
    mode == "STRUCTURED"
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl PublishAction {
    /// The event of an existing task, from the input's shape; `None` if its broker is unknown.
    ///
    /// This reads the values one by one. The derived code, which names misspelt keys of a typed text, is much larger,
    /// and the form of every existing task would need it.
    pub(super) fn of(input: &Value) -> Option<Self> {
        let (kind, to) = input["to"].as_object()?.iter().next()?;
        let connection = || AddressAction::of(&to["connection"]);
        let to = match kind.as_str() {
            "kafka" => BrokerAction::Kafka(KafkaAction {
                connection: connection(),
                sasl: some(to, "sasl").unwrap_or_else(usual_sasl),
                topic: text(to, "topic"),
                key: some(to, "key"),
                partition: some(to, "partition"),
            }),
            "nats" => BrokerAction::Nats(NatsAction {
                connection: connection(),
                subject: text(to, "subject"),
                stream: some(to, "stream"),
            }),
            "rabbitmq" => BrokerAction::Rabbitmq(RabbitmqAction {
                connection: connection(),
                vhost: some(to, "vhost").unwrap_or_else(usual_vhost),
                exchange: text(to, "exchange"),
                routing_key: text(to, "routingKey"),
            }),
            "redis" => BrokerAction::Redis(RedisAction {
                connection: connection(),
                database: to["database"].as_i64().unwrap_or_default(),
                stream: text(to, "stream"),
                max_length: to["maxLength"].as_i64(),
            }),
            "sqs" => BrokerAction::Sqs(SqsAction {
                queue_url: text(to, "queueUrl"),
                region: some(to, "region"),
                access_key_id: text(to, "accessKeyId"),
                secret_access_key: text(to, "secretAccessKey"),
                session_token: some(to, "sessionToken"),
                group: some(to, "group"),
            }),
            _ => return None,
        };
        Some(Self { to, event: EventAction::of(&input["event"]) })
    }
}

impl AddressAction {
    fn of(input: &Value) -> Self {
        let servers = input["servers"].as_array().into_iter().flatten();
        Self {
            servers: servers.filter_map(Value::as_str).map(str::to_owned).collect(),
            tls: input["tls"].as_bool().unwrap_or_default(),
            username: some(input, "username"),
            password: some(input, "password"),
        }
    }
}

impl EventAction {
    fn of(input: &Value) -> Self {
        let headers = input["headers"].as_array().into_iter().flatten();
        let header = |pair: &Value| Pair { name: text(pair, "name"), value: text(pair, "value") };
        Self {
            mode: some(input, "mode").unwrap_or_else(usual_mode),
            kind: some(input, "type"),
            source: some(input, "source"),
            subject: some(input, "subject"),
            payload: input.get("payload").cloned(),
            headers: headers.map(header).collect(),
        }
    }
}

fn some(input: &Value, field: &str) -> Option<String> {
    input[field].as_str().map(str::to_owned)
}

fn text(input: &Value, field: &str) -> String {
    some(input, field).unwrap_or_default()
}

impl BrokerAction {
    /// The name of the broker's kind in the form.
    pub(in crate::pages) fn kind(&self) -> &'static str {
        match self {
            Self::Kafka(_) => "kafka",
            Self::Nats(_) => "nats",
            Self::Rabbitmq(_) => "rabbitmq",
            Self::Redis(_) => "redis",
            Self::Sqs(_) => "sqs",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn an_event_has_the_shape_that_the_api_takes() {
        let text = json!({
            "to": { "kafka": {
                "connection": { "servers": ["kafka:9093"], "tls": true, "password": "{{ secrets.kafka }}" },
                "sasl": "SCRAM_SHA_512", "topic": "reports", "partition": "3",
            } },
            "event": { "type": "org.example.due", "payload": { "day": 1 } },
        });
        let action: PublishAction = from_value(text.clone()).unwrap();
        assert_eq!(action.to.kind(), "kafka");
        assert_eq!(to_value(&action).unwrap(), text);
        let short = json!({ "to": { "rabbitmq": { "routingKey": "mails" } } });
        let action: PublishAction = from_value(short.clone()).unwrap();
        assert_eq!(to_value(&action).unwrap(), short);
        let misspelt = json!({ "to": { "redis": { "strem": "x" } } });
        assert!(from_value::<PublishAction>(misspelt).is_err());
    }
}
