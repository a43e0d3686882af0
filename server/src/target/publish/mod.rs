//! Publishes events to brokers, as CloudEvents 1.0.
//!
//! An attempt succeeds once the broker has acknowledged the event. If the broker is unreachable,
//! refuses the event or does not answer within the task's timeout, the attempt fails, and the
//! task's retry policy decides about the next one. All attempts have the same event id. Within an
//! attempt, an event is sent again only if it certainly was not sent before, or if it has a number
//! by which the broker recognises it (Kafka). So only another recorded attempt can duplicate an
//! event.
//!
//! The protocols are implemented here as far as a publisher needs them. A single `Dialer` opens all
//! connections, so that one policy decides which destinations are reached and which authorities are
//! trusted (docs/decisions/0080). Tasks with the same connection settings share a connection, which
//! is reopened when it breaks.
//!
//! - `definition`: the definition that a user writes
//! - `check`: validates a definition
//! - `event`: builds the CloudEvent of an attempt
//! - `publisher`: carries out an attempt, within its time limit
//! - `pool`: the shared connections
//! - `report`: the state of the connections, for health and metrics
//! - `dial`: opens connections; `place`: host and port of a server
//! - `link`: multiplexes requests over an open connection
//! - `kafka`, `nats`, `rabbitmq` (`amqp`: its frames), `redis`, `sqs`: the brokers
//! - `big_endian`: numbers as AMQP and Kafka encode them
//! - `queue`: the properties of an SQS queue that its URL shows
//! - `missing`: stands in for brokers that a build leaves out
//! - `problem`: why an event was not published

#![cfg_attr(
    not(any(
        feature = "kafka",
        feature = "nats",
        feature = "rabbitmq",
        feature = "redis-streams"
    )),
    expect(dead_code, reason = "only the brokers that this build lacks use the connections")
)]

#[cfg(feature = "rabbitmq")]
mod amqp;
#[cfg(any(feature = "kafka", feature = "rabbitmq"))]
mod big_endian;
mod check;
mod definition;
mod dial;
mod event;
#[cfg(feature = "kafka")]
mod kafka;
mod link;
#[cfg(not(all(
    feature = "kafka",
    feature = "nats",
    feature = "rabbitmq",
    feature = "redis-streams",
    feature = "sqs"
)))]
mod missing;
#[cfg(feature = "nats")]
mod nats;
mod place;
mod pool;
mod problem;
mod publisher;
mod queue;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis-streams")]
mod redis;
mod report;
#[cfg(feature = "sqs")]
mod sqs;

pub use definition::{
    Broker, BrokerConnection, CloudEvent, ContentMode, Kafka, Nats, Publish, Rabbitmq, Redis, Sasl,
    Sqs,
};
pub(super) use publisher::Publisher;
pub use report::BrokerReport;
