//! The definition of an event and its broker, as a user writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::target::SecretText;

/// An event to publish to a broker. The attempt succeeds once the broker has acknowledged it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// The broker, and the topic, queue or stream in it that receives the event.
    pub to: Broker,
    /// The attributes and the content of the event; each has a default.
    #[serde(default, skip_serializing_if = "CloudEvent::is_usual")]
    pub event: CloudEvent,
}

/// A broker and a destination in it. In JSON an object with one key: `{"nats": {...}}`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Broker {
    /// Apache Kafka and brokers with the same protocol.
    Kafka(Kafka),
    /// NATS JetStream.
    Nats(Nats),
    /// RabbitMQ, over AMQP 0-9-1.
    Rabbitmq(Rabbitmq),
    /// A Redis stream.
    Redis(Redis),
    /// Amazon SQS.
    Sqs(Sqs),
}

/// How to reach the servers of a broker.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BrokerConnection {
    /// 1 to 8 servers, as `host` or `host:port`, tried in order.
    pub servers: Vec<String>,
    /// Whether connections are encrypted, with the server's certificate checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// User name to sign in with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Password to sign in with, as `{{ secrets.name }}`. Without a `username` it is a token, if
    /// the broker supports tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretText>,
}

/// A Kafka topic.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Kafka {
    /// The first brokers to connect to; Carillon learns the others of the cluster from them.
    pub connection: BrokerConnection,
    /// The SASL mechanism for `username` and `password`.
    #[serde(default, skip_serializing_if = "Sasl::is_plain")]
    pub sasl: Sasl,
    /// Name of the topic.
    pub topic: String,
    /// Events with the same key go to the same partition. Without a key they are spread
    /// round-robin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Number of the partition, instead of the one that the key determines.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text_or_number")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub partition: Option<String>,
}

/// How to authenticate to Kafka.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sasl {
    /// SASL/PLAIN: the password is sent. Use it with `tls`.
    #[default]
    Plain,
    /// SASL/SCRAM-SHA-256.
    #[serde(rename = "scram_sha_256")]
    ScramSha256,
    /// SASL/SCRAM-SHA-512.
    #[serde(rename = "scram_sha_512")]
    ScramSha512,
}

impl Sasl {
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

/// A subject that a stream of JetStream listens to.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Nats {
    /// How to reach the servers.
    pub connection: BrokerConnection,
    /// The subject, without wildcards.
    pub subject: String,
    /// The stream that must store the event; any stream that listens to the subject if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// A RabbitMQ exchange.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Rabbitmq {
    /// How to reach the servers.
    pub connection: BrokerConnection,
    /// The virtual host; `/` if left out.
    #[serde(default = "slash", skip_serializing_if = "is_slash")]
    pub vhost: String,
    /// The name of the exchange; RabbitMQ's default exchange if left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub exchange: String,
    /// The routing key. For the default exchange it is the name of a queue.
    pub routing_key: String,
}

fn slash() -> String {
    "/".to_owned()
}

fn is_slash(vhost: &str) -> bool {
    vhost == "/"
}

/// A Redis stream.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Redis {
    /// How to reach the server.
    pub connection: BrokerConnection,
    /// The number of the database; 0 if left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub database: u16,
    /// The key of the stream.
    pub stream: String,
    /// The approximate number of entries that the stream keeps; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// An Amazon SQS queue.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Sqs {
    /// URL of the queue: `https://sqs.eu-central-1.amazonaws.com/123456789012/orders`.
    pub queue_url: String,
    /// The AWS region; required if the URL does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Id of the access key.
    pub access_key_id: String,
    /// The access key, as `{{ secrets.name }}`.
    pub secret_access_key: SecretText,
    /// The token that belongs to a temporary access key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<SecretText>,
    /// For a queue whose name ends with `.fifo`: events of a group stay in order. The schedule's
    /// name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A CloudEvent. Its id is the idempotency key: the same over all attempts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct CloudEvent {
    /// How the event is encoded in the message; `structured` if left out.
    #[serde(skip_serializing_if = "ContentMode::is_structured")]
    pub mode: ContentMode,
    /// The CloudEvents attribute `type`; `carillon.fire` if left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The CloudEvents attribute `source`; `/carillon/<namespace>/<schedule>` if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The CloudEvents attribute `subject`; absent if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The value under `payload` in the event's data; the task's context if left out. Texts in it
    /// may be templates; a text that contains a JSON object or array is parsed as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Headers of the message, in addition to those that the encoding sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretText>,
}

/// The content modes of CloudEvents.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CloudEventMode")]
pub enum ContentMode {
    /// The body is a JSON object with attributes and data.
    #[default]
    Structured,
    /// The body is the data; the attributes are headers.
    Binary,
}

impl ContentMode {
    fn is_structured(&self) -> bool {
        *self == Self::Structured
    }
}

impl CloudEvent {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Broker {
    /// The kind's name, as in the definition's key.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kafka(_) => "kafka",
            Self::Nats(_) => "nats",
            Self::Rabbitmq(_) => "rabbitmq",
            Self::Redis(_) => "redis",
            Self::Sqs(_) => "sqs",
        }
    }

    /// Its servers, as the origin by which failures are grouped.
    pub fn origin(&self) -> Option<String> {
        match self {
            Self::Sqs(sqs) => {
                url::Url::parse(&sqs.queue_url).ok().map(|url| url.origin().ascii_serialization())
            }
            Self::Kafka(_) | Self::Nats(_) | Self::Rabbitmq(_) | Self::Redis(_) => {
                let servers = self.connection().map(|connection| connection.servers.join(","));
                servers.map(|servers| format!("{}://{servers}", self.name()))
            }
        }
    }

    /// How to reach its servers, for brokers with persistent connections.
    pub fn connection(&self) -> Option<&BrokerConnection> {
        match self {
            Self::Kafka(kafka) => Some(&kafka.connection),
            Self::Nats(nats) => Some(&nats.connection),
            Self::Rabbitmq(rabbitmq) => Some(&rabbitmq.connection),
            Self::Redis(redis) => Some(&redis.connection),
            Self::Sqs(_) => None,
        }
    }

    /// The connection of [`Self::connection`], mutable.
    pub fn connection_mut(&mut self) -> Option<&mut BrokerConnection> {
        match self {
            Self::Kafka(kafka) => Some(&mut kafka.connection),
            Self::Nats(nats) => Some(&mut nats.connection),
            Self::Rabbitmq(rabbitmq) => Some(&mut rabbitmq.connection),
            Self::Redis(redis) => Some(&mut redis.connection),
            Self::Sqs(_) => None,
        }
    }

    /// Its secrets with the names of their fields.
    pub fn secrets_mut(&mut self) -> Vec<(&'static str, &mut SecretText)> {
        match self {
            Self::Sqs(sqs) => {
                let key = ("secret_access_key", &mut sqs.secret_access_key);
                let token = sqs.session_token.as_mut().map(|token| ("session_token", token));
                std::iter::once(key).chain(token).collect()
            }
            Self::Kafka(_) | Self::Nats(_) | Self::Rabbitmq(_) | Self::Redis(_) => {
                let connection = self.connection_mut();
                let password = connection.and_then(|connection| connection.password.as_mut());
                password.map(|password| ("connection.password", password)).into_iter().collect()
            }
        }
    }

    /// Whether `other` is the same broker, reached in the same way, so that a secret that was
    /// entered for one may be sent to the other.
    pub fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sqs(one), Self::Sqs(other)) => one.queue_url == other.queue_url,
            _ => {
                self.name() == other.name()
                    && self.connection().zip(other.connection()).is_some_and(|(one, other)| {
                        one.servers == other.servers && one.tls == other.tls
                    })
            }
        }
    }
}

/// A number, or a text that may be a template.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum TextOrNumber {
    Number(u32),
    Text(String),
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let given = Option::<TextOrNumber>::deserialize(deserializer)
        .map_err(|_| de::Error::custom("expected a number or a template that yields one"))?;
    Ok(given.map(|given| match given {
        TextOrNumber::Number(number) => number.to_string(),
        TextOrNumber::Text(text) => text,
    }))
}
