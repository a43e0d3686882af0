//! Real brokers on this machine. Each round starts its own broker process. The evidence is the
//! broker's own count of its events.
//!
//! - `daemon`: a process that listens
//! - `kafka`, `nats`, `rabbitmq`, `redis`, `sqs`: how each broker is started and queried

mod daemon;
mod kafka;
mod nats;
mod rabbitmq;
mod redis;
mod sqs;

use anyhow::Result;
use carillon::{clock::Clock, target::Target};
use clap::ValueEnum;
use serde_json::{Value, json};

use self::daemon::Daemon;
pub(crate) use self::sqs::{Arguments as QueueArguments, run as run_queue};

/// A kind of broker.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broker {
    /// Tansu, a broker that implements Kafka's protocol.
    Kafka,
    /// NATS with JetStream.
    Nats,
    /// `RabbitMQ`.
    Rabbitmq,
    /// Redis, configured to write to its disk before it acknowledges.
    Redis,
    /// A process of this program that accepts messages like SQS.
    Sqs,
}

/// A running broker, with an empty destination for events.
#[derive(Debug)]
pub(crate) struct Running {
    broker: Broker,
    daemon: Daemon,
    /// The destination of events, as written in a definition.
    to: Value,
}

impl Broker {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] =
        [Self::Kafka, Self::Nats, Self::Rabbitmq, Self::Redis, Self::Sqs];

    /// The broker's name for display.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kafka => "Kafka (Tansu)",
            Self::Nats => "NATS JetStream",
            Self::Rabbitmq => "RabbitMQ",
            Self::Redis => "Redis Streams",
            Self::Sqs => "SQS (a stand-in)",
        }
    }

    /// The missing program of this broker, if any, and how to install it.
    pub(crate) async fn missing(self) -> Option<&'static str> {
        let (is_there, missing) = match self {
            Self::Kafka => (
                kafka::is_installed().await,
                "tansu or confluent-kafka (scripts/python-tools brokers)",
            ),
            Self::Nats => {
                (nats::is_installed().await, "nats-server (scripts/python-tools brokers)")
            }
            Self::Rabbitmq => {
                (rabbitmq::is_installed(), "rabbitmq-server (scripts/packages rabbitmq)")
            }
            Self::Redis => (redis::is_installed().await, "redis-server (scripts/packages redis)"),
            Self::Sqs => return None,
        };
        (!is_there).then_some(missing)
    }

    /// Starts a broker.
    pub(crate) async fn start(self, clock: &Clock) -> Result<Running> {
        let (daemon, to) = match self {
            Self::Kafka => kafka::start(clock).await?,
            Self::Nats => nats::start(clock).await?,
            Self::Rabbitmq => rabbitmq::start(clock).await?,
            Self::Redis => redis::start(clock).await?,
            Self::Sqs => sqs::start(clock).await?,
        };
        Ok(Running { broker: self, daemon, to })
    }
}

impl Running {
    /// The target that publishes to the broker.
    pub(crate) fn target(&self) -> Result<Target> {
        Ok(serde_json::from_value(json!({ "publish": { "to": self.to } }))?)
    }

    /// How many events the broker has; a duplicate counts twice.
    pub(crate) async fn count(&self) -> Result<u64> {
        let daemon = &self.daemon;
        match self.broker {
            Broker::Kafka => kafka::count(daemon).await,
            Broker::Nats => nats::count(daemon).await,
            Broker::Rabbitmq => rabbitmq::count(daemon).await,
            Broker::Redis => redis::count(daemon).await,
            Broker::Sqs => sqs::count(daemon).await,
        }
    }

    /// Ends the broker.
    pub(crate) async fn stop(self) -> Result<()> {
        self.daemon.stop().await
    }
}
