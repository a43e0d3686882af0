//! Events to brokers, as CloudEvents 1.0.
//!
//! An attempt succeeds once the broker has acknowledged the event: a broker that is away, refuses it
//! or does not answer within the task's timeout fails the attempt, and the task's retry policy
//! decides about the next. All attempts carry the same event id. What is sent a second time is
//! either known to be unsent or numbered so that the broker knows it (Kafka): an event is doubled by
//! a recorded attempt or not at all.
//!
//! The protocols are spoken here, as far as a publisher needs them, over connections that one
//! `Dialer` opens: so one policy says where they go and whom they trust
//! (docs/decisions/0080). Connections are shared by all tasks that reach a broker in the same way,
//! and made again when they break.
//!
//! - `definition`: what a user writes
//! - `check`: what is wrong with it
//! - `event`: an attempt as a CloudEvent
//! - `publisher`: carries an attempt out, within its time limit
//! - `pool`: the shared connections
//! - `report`: how they fare, for health and metrics
//! - `dial`: opens connections; `place`: where to
//! - `link`: works on an open connection
//! - `kafka`, `nats`, `rabbitmq` (`amqp`: its frames), `redis`, `sqs`: the brokers
//! - `big_endian`: numbers as AMQP and Kafka write them
//! - `queue`: what the address of a queue tells
//! - `missing`: in the place of brokers that a build leaves out
//! - `problem`: why an event was not published

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
    Broker, Connection, Event, Kafka, Mode, Nats, Publish, Rabbitmq, Redis, Sasl, Sqs,
};
pub(super) use publisher::Publisher;
pub use report::BrokerReport;
