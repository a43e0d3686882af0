//! A broker event as a form sends it, and as it is handed to a form.

use async_graphql::{InputObject, OneofObject};
use serde_json::Value;

use super::{
    publish::{CloudEventMode, Sasl},
    task_input::{HeaderInput, exposed, pairs, secrets},
};
use crate::{
    commands::BadInput,
    target::{self, SecretText},
};

/// An event to publish to a broker.
#[derive(InputObject)]
pub(crate) struct PublishTargetInput {
    /// The destination.
    to: BrokerInput,
    /// The event to publish.
    event: Option<CloudEventInput>,
}

/// The broker to publish to: exactly one of these fields.
#[derive(OneofObject)]
pub(crate) enum BrokerInput {
    /// A topic of Kafka, or of a broker with the same protocol.
    Kafka(KafkaTopicInput),
    /// A subject of NATS JetStream.
    Nats(NatsSubjectInput),
    /// An exchange of RabbitMQ.
    Rabbitmq(RabbitmqExchangeInput),
    /// A stream of Redis.
    Redis(RedisStreamInput),
    /// A queue of Amazon SQS.
    Sqs(SqsQueueInput),
}

/// How to reach the servers of a broker.
#[derive(InputObject)]
pub(crate) struct BrokerAddressInput {
    /// 1 to 8 servers, as `host` or `host:port`, tried in order.
    servers: Vec<String>,
    /// Whether connections are encrypted. The server's certificate is verified.
    #[graphql(default)]
    tls: bool,
    /// The name to sign in with. Without one, `password` is a token where the broker supports
    /// tokens.
    username: Option<String>,
    /// The password, as `{{ secrets.name }}`. On an update, the mask `***` keeps the current one.
    password: Option<String>,
}

/// A Kafka topic.
#[derive(InputObject)]
pub(crate) struct KafkaTopicInput {
    /// The brokers to connect to first; they report the others.
    connection: BrokerAddressInput,
    /// The SASL mechanism for authentication.
    #[graphql(default_with = "Sasl::Plain")]
    sasl: Sasl,
    /// The name of the topic; it may be a template.
    topic: String,
    /// Events with the same key go to the same partition. Without a key, events go to all
    /// partitions in turn.
    key: Option<String>,
    /// The partition, instead of the one that the key determines: a number, or a template that
    /// yields one.
    partition: Option<String>,
}

/// A NATS JetStream subject.
#[derive(InputObject)]
pub(crate) struct NatsSubjectInput {
    /// How to reach the servers.
    connection: BrokerAddressInput,
    /// The subject, without wildcards; it may be a template.
    subject: String,
    /// The stream that must accept the event; any stream if absent.
    stream: Option<String>,
}

/// A RabbitMQ exchange.
#[derive(InputObject)]
pub(crate) struct RabbitmqExchangeInput {
    /// How to reach the servers.
    connection: BrokerAddressInput,
    /// The virtual host.
    #[graphql(default = "/")]
    vhost: String,
    /// The name of the exchange; empty for the default exchange.
    #[graphql(default)]
    exchange: String,
    /// For the default exchange, the name of a queue.
    routing_key: String,
}

/// A Redis stream.
#[derive(InputObject)]
pub(crate) struct RedisStreamInput {
    /// How to reach the servers.
    connection: BrokerAddressInput,
    /// The number of the database, from 0.
    #[graphql(default)]
    database: u16,
    /// The key of the stream.
    stream: String,
    /// The approximate number of entries that the stream keeps; all of them if absent.
    max_length: Option<u32>,
}

/// An Amazon SQS queue.
#[derive(InputObject)]
pub(crate) struct SqsQueueInput {
    /// The URL of the queue: `https://sqs.eu-central-1.amazonaws.com/123456789012/orders`
    queue_url: String,
    /// Required if `queueUrl` does not contain it.
    region: Option<String>,
    /// The id of the access key.
    access_key_id: String,
    /// The secret key, as `{{ secrets.name }}`. On an update, the mask `***` keeps the current one.
    secret_access_key: String,
    /// The session token of temporary credentials. On an update, the mask `***` keeps the current
    /// one.
    session_token: Option<String>,
    /// For an ordered queue: events of the same group stay in order. Defaults to the schedule's
    /// name.
    group: Option<String>,
}

/// A CloudEvent. Its id is the idempotency key, which is the same for all attempts.
#[derive(InputObject)]
pub(crate) struct CloudEventInput {
    /// How the event is encoded.
    #[graphql(default_with = "CloudEventMode::Structured")]
    mode: CloudEventMode,
    /// The event's type; defaults to `carillon.fire`.
    #[graphql(name = "type")]
    kind: Option<String>,
    /// The event's source; defaults to `/carillon/<namespace>/<schedule>`.
    source: Option<String>,
    /// Its `subject` attribute; none if absent.
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
                secret_access_key: SecretText::new(input.secret_access_key),
                session_token: input.session_token.map(SecretText::new),
                group: input.group,
            }),
        }
    }
}

impl From<BrokerAddressInput> for target::BrokerConnection {
    fn from(input: BrokerAddressInput) -> Self {
        Self {
            servers: input.servers,
            tls: input.tls,
            username: input.username,
            password: input.password.map(SecretText::new),
        }
    }
}

fn event(input: CloudEventInput) -> Result<target::CloudEvent, BadInput> {
    Ok(target::CloudEvent {
        mode: input.mode.into(),
        kind: input.kind,
        source: input.source,
        subject: input.subject,
        payload: input.payload,
        headers: secrets("task.target.publish.event.headers", input.headers)?,
    })
}

impl From<target::Publish> for PublishTargetInput {
    fn from(publish: target::Publish) -> Self {
        Self { to: publish.to.into(), event: Some(publish.event.into()) }
    }
}

impl From<target::Broker> for BrokerInput {
    fn from(broker: target::Broker) -> Self {
        match broker {
            target::Broker::Kafka(kafka) => Self::Kafka(KafkaTopicInput {
                connection: kafka.connection.into(),
                sasl: kafka.sasl.into(),
                topic: kafka.topic,
                key: kafka.key,
                partition: kafka.partition,
            }),
            target::Broker::Nats(nats) => Self::Nats(NatsSubjectInput {
                connection: nats.connection.into(),
                subject: nats.subject,
                stream: nats.stream,
            }),
            target::Broker::Rabbitmq(rabbitmq) => Self::Rabbitmq(RabbitmqExchangeInput {
                connection: rabbitmq.connection.into(),
                vhost: rabbitmq.vhost,
                exchange: rabbitmq.exchange,
                routing_key: rabbitmq.routing_key,
            }),
            target::Broker::Redis(redis) => Self::Redis(RedisStreamInput {
                connection: redis.connection.into(),
                database: redis.database,
                stream: redis.stream,
                max_length: redis.max_length,
            }),
            target::Broker::Sqs(sqs) => Self::Sqs(SqsQueueInput {
                queue_url: sqs.queue_url,
                region: sqs.region,
                access_key_id: sqs.access_key_id,
                secret_access_key: exposed(&sqs.secret_access_key),
                session_token: sqs.session_token.as_ref().map(exposed),
                group: sqs.group,
            }),
        }
    }
}

impl From<target::BrokerConnection> for BrokerAddressInput {
    fn from(connection: target::BrokerConnection) -> Self {
        Self {
            servers: connection.servers,
            tls: connection.tls,
            username: connection.username,
            password: connection.password.as_ref().map(exposed),
        }
    }
}

impl From<target::CloudEvent> for CloudEventInput {
    fn from(event: target::CloudEvent) -> Self {
        Self {
            mode: event.mode.into(),
            kind: event.kind,
            source: event.source,
            subject: event.subject,
            payload: event.payload,
            headers: pairs(&event.headers),
        }
    }
}
