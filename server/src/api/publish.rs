//! Broker events for display, with secrets masked.

use async_graphql::{Enum, SimpleObject, Union};

use super::{
    page::DECLARED,
    target::{Header, pairs},
};
use crate::target;

/// Publishes an event to a broker.
#[derive(SimpleObject)]
pub(crate) struct PublishTarget {
    /// The destination.
    to: Broker,
    /// The event to publish.
    event: CloudEvent,
}

/// A broker, with a destination in it.
#[derive(Union)]
pub(crate) enum Broker {
    Kafka(KafkaTopic),
    Nats(NatsSubject),
    Rabbitmq(RabbitmqExchange),
    Redis(RedisStream),
    Sqs(SqsQueue),
}

/// How to reach the servers of a broker.
#[derive(SimpleObject)]
pub(crate) struct BrokerAddress {
    /// The servers, each as `host` or `host:port`.
    servers: Vec<String>,
    /// Whether connections are encrypted.
    tls: bool,
    /// The name to sign in with; null for none.
    username: Option<String>,
    /// Masked, unless it names a secret.
    password: Option<String>,
}

/// A Kafka topic.
#[derive(SimpleObject)]
pub(crate) struct KafkaTopic {
    /// The brokers to connect to first; they report the others.
    connection: BrokerAddress,
    /// The SASL mechanism for authentication.
    sasl: Sasl,
    /// The name of the topic.
    topic: String,
    /// Events with the same key go to the same partition.
    key: Option<String>,
    /// The partition; if null, the key determines it.
    partition: Option<String>,
}

/// How a client authenticates to Kafka.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "target::Sasl")]
pub(crate) enum Sasl {
    /// SASL/PLAIN: the password is sent.
    Plain,
    /// SASL/SCRAM-SHA-256.
    #[graphql(name = "SCRAM_SHA_256")]
    ScramSha256,
    /// SASL/SCRAM-SHA-512.
    #[graphql(name = "SCRAM_SHA_512")]
    ScramSha512,
}

/// A NATS JetStream subject.
#[derive(SimpleObject)]
pub(crate) struct NatsSubject {
    /// How to reach the servers.
    connection: BrokerAddress,
    /// The subject, without wildcards.
    subject: String,
    /// The stream that must accept the event.
    stream: Option<String>,
}

/// A RabbitMQ exchange.
#[derive(SimpleObject)]
pub(crate) struct RabbitmqExchange {
    /// How to reach the servers.
    connection: BrokerAddress,
    /// The virtual host.
    vhost: String,
    /// The name of the exchange; empty for the default exchange.
    exchange: String,
    /// The routing key; for the default exchange, the name of a queue.
    routing_key: String,
}

/// A Redis stream.
#[derive(SimpleObject)]
pub(crate) struct RedisStream {
    /// How to reach the servers.
    connection: BrokerAddress,
    /// The number of the database, from 0.
    database: i32,
    /// The key of the stream.
    stream: String,
    /// The approximate number of entries that the stream keeps.
    max_length: Option<u32>,
}

/// An Amazon SQS queue.
#[derive(SimpleObject)]
pub(crate) struct SqsQueue {
    /// The URL of the queue.
    queue_url: String,
    /// The region; null unless it was given.
    region: Option<String>,
    /// The id of the access key.
    access_key_id: String,
    /// Masked, unless it names a secret.
    secret_access_key: String,
    /// Masked, unless it names a secret.
    session_token: Option<String>,
    /// Events of the same group stay in order, if the queue is ordered.
    group: Option<String>,
}

/// A CloudEvent.
#[derive(SimpleObject)]
pub(crate) struct CloudEvent {
    /// How the event is encoded.
    mode: CloudEventMode,
    /// The event's type; null for `carillon.fire`.
    #[graphql(name = "type")]
    kind: Option<String>,
    /// The event's source; null for `/carillon/<namespace>/<schedule>`.
    source: Option<String>,
    /// Its `subject` attribute; null for none.
    subject: Option<String>,
    /// A text or JSON; null for the task's context.
    payload: Option<String>,
    /// Values are masked unless they name a secret.
    #[graphql(complexity = "DECLARED * child_complexity")]
    headers: Vec<Header>,
}

/// The encoding of a CloudEvent.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "target::ContentMode")]
pub(crate) enum CloudEventMode {
    /// The body is a JSON object that holds attributes and data.
    Structured,
    /// The body is the data; the attributes are headers.
    Binary,
}

impl From<target::Publish> for PublishTarget {
    fn from(publish: target::Publish) -> Self {
        Self { to: publish.to.into(), event: publish.event.into() }
    }
}

impl From<target::Broker> for Broker {
    fn from(broker: target::Broker) -> Self {
        match broker {
            target::Broker::Kafka(kafka) => Self::Kafka(KafkaTopic {
                connection: kafka.connection.into(),
                sasl: kafka.sasl.into(),
                topic: kafka.topic,
                key: kafka.key,
                partition: kafka.partition,
            }),
            target::Broker::Nats(nats) => Self::Nats(NatsSubject {
                connection: nats.connection.into(),
                subject: nats.subject,
                stream: nats.stream,
            }),
            target::Broker::Rabbitmq(rabbitmq) => Self::Rabbitmq(RabbitmqExchange {
                connection: rabbitmq.connection.into(),
                vhost: rabbitmq.vhost,
                exchange: rabbitmq.exchange,
                routing_key: rabbitmq.routing_key,
            }),
            target::Broker::Redis(redis) => Self::Redis(RedisStream {
                connection: redis.connection.into(),
                database: redis.database.into(),
                stream: redis.stream,
                max_length: redis.max_length,
            }),
            target::Broker::Sqs(sqs) => Self::Sqs(SqsQueue {
                queue_url: sqs.queue_url,
                region: sqs.region,
                access_key_id: sqs.access_key_id,
                secret_access_key: sqs.secret_access_key.expose().to_owned(),
                session_token: sqs.session_token.map(|token| token.expose().to_owned()),
                group: sqs.group,
            }),
        }
    }
}

impl From<target::BrokerConnection> for BrokerAddress {
    fn from(connection: target::BrokerConnection) -> Self {
        Self {
            servers: connection.servers,
            tls: connection.tls,
            username: connection.username,
            password: connection.password.map(|password| password.expose().to_owned()),
        }
    }
}

impl From<target::CloudEvent> for CloudEvent {
    fn from(event: target::CloudEvent) -> Self {
        Self {
            mode: event.mode.into(),
            kind: event.kind,
            source: event.source,
            subject: event.subject,
            payload: event
                .payload
                .map(|payload| payload.as_str().map_or_else(|| payload.to_string(), str::to_owned)),
            headers: pairs(&event.headers),
        }
    }
}
