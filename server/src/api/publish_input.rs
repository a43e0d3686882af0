//! A broker event as a form sends it.

use async_graphql::{InputObject, OneofObject};
use serde_json::Value;

use super::{
    publish::{CloudEventMode, Sasl},
    task_input::{HeaderInput, secrets},
};
use crate::{
    commands::BadInput,
    target::{self, Secret},
};

/// An event to publish to a broker.
#[derive(InputObject)]
pub(crate) struct PublishTargetInput {
    /// The destination.
    to: BrokerInput,
    /// The event to publish.
    event: Option<CloudEventInput>,
}

/// Exactly one of these.
#[derive(OneofObject)]
pub(crate) enum BrokerInput {
    Kafka(KafkaTopicInput),
    Nats(NatsSubjectInput),
    Rabbitmq(RabbitmqExchangeInput),
    Redis(RedisStreamInput),
    Sqs(SqsQueueInput),
}

/// How the servers of a broker are reached.
#[derive(InputObject)]
pub(crate) struct BrokerAddressInput {
    /// 1 to 8 servers, as `host` or `host:port`, tried in order.
    servers: Vec<String>,
    /// Whether connections are encrypted. The server's certificate is verified.
    #[graphql(default)]
    tls: bool,
    username: Option<String>,
    /// As `{{ secrets.name }}`. On an update, the mask `***` keeps the current one.
    password: Option<String>,
}

/// A topic of Kafka.
#[derive(InputObject)]
pub(crate) struct KafkaTopicInput {
    connection: BrokerAddressInput,
    /// The SASL mechanism for authentication.
    #[graphql(default_with = "Sasl::Plain")]
    sasl: Sasl,
    topic: String,
    /// Events with the same key go to the same partition. Without a key, events go to all
    /// partitions in turn.
    key: Option<String>,
    /// The partition, instead of the one that the key determines: a number, or a template that
    /// yields one.
    partition: Option<String>,
}

/// A subject of a NATS JetStream stream.
#[derive(InputObject)]
pub(crate) struct NatsSubjectInput {
    connection: BrokerAddressInput,
    subject: String,
    /// The stream that must accept the event; any stream if absent.
    stream: Option<String>,
}

/// An exchange of RabbitMQ.
#[derive(InputObject)]
pub(crate) struct RabbitmqExchangeInput {
    connection: BrokerAddressInput,
    #[graphql(default = "/")]
    vhost: String,
    /// Empty for the default exchange.
    #[graphql(default)]
    exchange: String,
    /// For the default exchange, the name of a queue.
    routing_key: String,
}

/// A stream of Redis.
#[derive(InputObject)]
pub(crate) struct RedisStreamInput {
    connection: BrokerAddressInput,
    #[graphql(default)]
    database: u16,
    /// The key of the stream.
    stream: String,
    /// The approximate number of entries that the stream keeps; all of them if absent.
    max_length: Option<u32>,
}

/// A queue of Amazon SQS.
#[derive(InputObject)]
pub(crate) struct SqsQueueInput {
    queue_url: String,
    /// Required if `queueUrl` does not contain it.
    region: Option<String>,
    access_key_id: String,
    /// As `{{ secrets.name }}`. On an update, the mask `***` keeps the current one.
    secret_access_key: String,
    /// The session token of temporary credentials. On an update, the mask `***` keeps the current
    /// one.
    session_token: Option<String>,
    /// For a queue that keeps an order: events of the same group stay in order. Defaults to the
    /// schedule's name.
    group: Option<String>,
}

/// A CloudEvent. Its id is the idempotency key, which is the same for all attempts.
#[derive(InputObject)]
pub(crate) struct CloudEventInput {
    #[graphql(default_with = "CloudEventMode::Structured")]
    mode: CloudEventMode,
    /// Defaults to `carillon.fire`.
    #[graphql(name = "type")]
    kind: Option<String>,
    /// Defaults to `/carillon/<namespace>/<schedule>`.
    source: Option<String>,
    subject: Option<String>,
    /// The value under `payload` in the event's data; defaults to the task's context. Strings in it
    /// may be templates. A string that contains a JSON object or array is parsed as one.
    payload: Option<Value>,
    /// On an update, the mask `***` keeps the current value.
    headers: Option<Vec<HeaderInput>>,
}

impl TryFrom<PublishTargetInput> for target::Publish {
    type Error = BadInput;

    fn try_from(input: PublishTargetInput) -> Result<Self, BadInput> {
        Ok(Self {
            to: input.to.into(),
            event: input.event.map(event).transpose()?.unwrap_or_default(),
        })
    }
}

impl From<BrokerInput> for target::Broker {
    fn from(input: BrokerInput) -> Self {
        match input {
            BrokerInput::Kafka(input) => Self::Kafka(target::Kafka {
                connection: input.connection.into(),
                sasl: input.sasl.into(),
                topic: input.topic,
                key: input.key,
                partition: input.partition,
            }),
            BrokerInput::Nats(input) => Self::Nats(target::Nats {
                connection: input.connection.into(),
                subject: input.subject,
                stream: input.stream,
            }),
            BrokerInput::Rabbitmq(input) => Self::Rabbitmq(target::Rabbitmq {
                connection: input.connection.into(),
                vhost: input.vhost,
                exchange: input.exchange,
                routing_key: input.routing_key,
            }),
            BrokerInput::Redis(input) => Self::Redis(target::Redis {
                connection: input.connection.into(),
                database: input.database,
                stream: input.stream,
                max_length: input.max_length,
            }),
            BrokerInput::Sqs(input) => Self::Sqs(target::Sqs {
                queue_url: input.queue_url,
                region: input.region,
                access_key_id: input.access_key_id,
                secret_access_key: Secret::new(input.secret_access_key),
                session_token: input.session_token.map(Secret::new),
                group: input.group,
            }),
        }
    }
}

impl From<BrokerAddressInput> for target::Connection {
    fn from(input: BrokerAddressInput) -> Self {
        Self {
            servers: input.servers,
            tls: input.tls,
            username: input.username,
            password: input.password.map(Secret::new),
        }
    }
}

fn event(input: CloudEventInput) -> Result<target::Event, BadInput> {
    Ok(target::Event {
        mode: input.mode.into(),
        kind: input.kind,
        source: input.source,
        subject: input.subject,
        payload: input.payload,
        headers: secrets("task.target.publish.event.headers", input.headers)?,
    })
}
