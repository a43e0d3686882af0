//! A workflow's tasks and their targets.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

use super::{Backoff, HttpAnswer};

/// One step of the workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) timeout_seconds: f64,
    pub(crate) kill_grace_seconds: f64,
    pub(crate) retry: Retry,
    pub(crate) retry_on: Vec<String>,
}

/// When a failed attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Retry {
    pub(crate) max_attempts: i64,
    pub(crate) backoff: Backoff,
    pub(crate) initial_seconds: f64,
    pub(crate) max_seconds: f64,
    pub(crate) jitter: f64,
}

/// The action of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Http(Http),
    Command(Command),
    Publish(Publish),
    Worker(Worker),
    Noop(Noop),
}

impl Target {
    /// The name of the target's kind, for narrow places.
    pub(crate) fn kind_word(&self) -> &'static str {
        match self {
            Self::Http(_) => "HTTP request",
            Self::Command(_) => "Command",
            Self::Publish(_) => "Event",
            Self::Worker(_) => "Job",
            Self::Noop(_) => "Rehearsal",
        }
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let target = Value::deserialize(deserializer)?;
        let read = match target["__typename"].as_str() {
            Some("HttpTarget") => serde_json::from_value(target).map(Self::Http),
            Some("CommandTarget") => serde_json::from_value(target).map(Self::Command),
            Some("PublishTarget") => Ok(Self::Publish(Publish { input: publish_input(&target) })),
            Some("WorkerTarget") => serde_json::from_value(target).map(Self::Worker),
            Some("NoopTarget") => serde_json::from_value(target).map(Self::Noop),
            _ => return Err(D::Error::custom("a target of an unknown kind")),
        };
        read.map_err(D::Error::custom)
    }
}

/// A task that a worker pulls from a queue.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Worker {
    pub(crate) queue: String,
    pub(crate) task: String,
    pub(crate) input: Option<Value>,
    pub(crate) tags: Vec<String>,
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Http {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<Pair>,
    pub(crate) body: Option<String>,
    pub(crate) expected_status: Vec<String>,
    pub(crate) output: HttpAnswer,
    pub(crate) signed: bool,
    /// The body, if it is JSON. This field and the next three are only requested for forms.
    #[serde(default)]
    pub(crate) json: Option<Value>,
    #[serde(default)]
    pub(crate) expected_body: Option<String>,
    #[serde(default)]
    pub(crate) max_redirects: Option<i64>,
    #[serde(default)]
    pub(crate) client_certificate: Option<String>,
}

/// A program or a script.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Command {
    pub(crate) program: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) script: Option<String>,
    pub(crate) environment: Vec<Pair>,
    pub(crate) directory: Option<String>,
    pub(crate) user: Option<String>,
}

/// An event for a broker. It stays JSON, because pages show little of it, and the forms read it into types of their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Publish {
    /// The target in the shape of the API's input, with the fields that were requested.
    pub(crate) input: Value,
}

impl Publish {
    /// The text at a JSON pointer, if there is one.
    fn text(&self, at: &str) -> Option<&str> {
        self.input.pointer(at).and_then(Value::as_str)
    }

    /// The destination of the event, in words.
    pub(crate) fn place(&self) -> String {
        if let Some(topic) = self.text("/to/kafka/topic") {
            let key = self.text("/to/kafka/key").map(|key| format!(" with the key {key}"));
            return format!("Kafka topic {topic}{}", key.unwrap_or_default());
        }
        if let Some(subject) = self.text("/to/nats/subject") {
            return format!("NATS subject {subject}");
        }
        if let Some(routing_key) = self.text("/to/rabbitmq/routingKey") {
            return match self.text("/to/rabbitmq/exchange").unwrap_or_default() {
                "" => format!("RabbitMQ queue {routing_key}"),
                exchange => format!("RabbitMQ exchange {exchange} with routing key {routing_key}"),
            };
        }
        if let Some(stream) = self.text("/to/redis/stream") {
            return format!("Redis stream {stream}");
        }
        format!("SQS queue {}", self.text("/to/sqs/queueUrl").unwrap_or_default())
    }

    /// The servers, in the order in which they are tried. For SQS, the queue's URL is the only one.
    pub(crate) fn servers(&self) -> Vec<&str> {
        let brokers = self.input["to"].as_object();
        let servers = brokers.and_then(|brokers| brokers.values().next());
        let servers = servers.and_then(|broker| broker["connection"]["servers"].as_array());
        servers.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The type of the event, if it has one of its own.
    pub(crate) fn event_type(&self) -> Option<&str> {
        self.text("/event/type")
    }

    /// The content mode, in lower case.
    pub(crate) fn mode(&self) -> String {
        self.text("/event/mode").unwrap_or_default().to_ascii_lowercase()
    }

    pub(crate) fn payload(&self) -> Option<&str> {
        self.text("/event/payload")
    }

    pub(crate) fn headers(&self) -> Vec<Pair> {
        serde_json::from_value(self.input["event"]["headers"].clone()).unwrap_or_default()
    }
}

/// A target that does nothing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Noop {
    pub(crate) note: String,
}

/// A header or a variable. The server masks secret values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Converts the API's output for an event into its input: the broker is stored under the name of its kind, and absent
/// fields are dropped. It also undoes the aliases that the query needs for the two fields called `stream`.
fn publish_input(target: &Value) -> Value {
    let kind = match target["to"]["__typename"].as_str() {
        Some("KafkaTopic") => "kafka",
        Some("NatsSubject") => "nats",
        Some("RabbitmqExchange") => "rabbitmq",
        Some("RedisStream") => "redis",
        _ => "sqs",
    };
    let broker = without_nulls(&target["to"]);
    let to = Map::from_iter([(kind.to_owned(), broker)]);
    let event = without_nulls(&target["event"]);
    Value::Object(Map::from_iter([("to".to_owned(), to.into()), ("event".to_owned(), event)]))
}

fn without_nulls(value: &Value) -> Value {
    let Some(object) = value.as_object() else { return value.clone() };
    let is_there = |(key, value): &(&String, &Value)| *key != "__typename" && !value.is_null();
    let named = |(key, value): (&String, &Value)| {
        let key = match key.as_str() {
            "name" | "natsStream" => "stream",
            other => other,
        };
        (key.to_owned(), without_nulls(value))
    };
    Value::Object(object.iter().filter(is_there).map(named).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_from_the_api_becomes_its_input() {
        let told = json!({
            "__typename": "PublishTarget",
            "to": {
                "__typename": "RedisStream", "name": "jobs", "maxLength": null, "database": 0,
                "connection": { "servers": ["localhost"], "tls": false, "password": "***" },
            },
            "event": {
                "mode": "BINARY", "type": null, "payload": "{}",
                "headers": [{ "name": "x", "value": "***" }],
            },
        });
        let connection = json!({ "servers": ["localhost"], "tls": false, "password": "***" });
        let wanted = json!({
            "to": { "redis": { "stream": "jobs", "database": 0, "connection": connection } },
            "event": {
                "mode": "BINARY", "payload": "{}", "headers": [{ "name": "x", "value": "***" }],
            },
        });
        let Ok(Target::Publish(publish)) = serde_json::from_value(told) else { panic!() };
        assert_eq!(publish.input, wanted);
        assert_eq!(publish.place(), "Redis stream jobs");
        assert_eq!(publish.servers(), ["localhost"]);
        assert_eq!((publish.mode().as_str(), publish.event_type()), ("binary", None));
        assert_eq!(publish.payload(), Some("{}"));
        assert_eq!(publish.headers(), [Pair { name: "x".to_owned(), value: "***".to_owned() }]);
    }

    #[test]
    fn each_destination_has_its_words() {
        let place = |to: Value| Publish { input: json!({ "to": to }) }.place();
        assert_eq!(place(json!({ "kafka": { "topic": "t" } })), "Kafka topic t");
        let keyed = json!({ "kafka": { "topic": "t", "key": "k" } });
        assert_eq!(place(keyed), "Kafka topic t with the key k");
        assert_eq!(place(json!({ "nats": { "subject": "s" } })), "NATS subject s");
        let queue = json!({ "rabbitmq": { "exchange": "", "routingKey": "q" } });
        assert_eq!(place(queue), "RabbitMQ queue q");
        let exchange = json!({ "rabbitmq": { "exchange": "e", "routingKey": "q" } });
        assert_eq!(place(exchange), "RabbitMQ exchange e with routing key q");
        assert_eq!(place(json!({ "sqs": { "queueUrl": "https://q" } })), "SQS queue https://q");
    }
}
