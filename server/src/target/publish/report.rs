use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::telemetry::BrokerCounts;

/// The state of a connection to a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerReport {
    /// Name of the broker's kind.
    pub broker: &'static str,
    /// The broker's servers, as a definition names them.
    pub place: String,
    /// Whether there is a connection; for SQS, whether the last request reached the server.
    pub is_open: bool,
    /// For how long the broker has been unreachable, and why; `None` if the last attempt to connect
    /// succeeded.
    pub failing: Option<(Duration, String)>,
}

/// The kinds of brokers, in alphabetical order.
const KINDS: [&str; 5] = ["kafka", "nats", "rabbitmq", "redis", "sqs"];

/// Counts published events.
#[derive(Debug, Default)]
pub(super) struct PublishCounts([EventCounts; KINDS.len()]);

#[derive(Debug, Default)]
struct EventCounts {
    acknowledged: AtomicU64,
    failed: AtomicU64,
    connected: AtomicU64,
}

impl PublishCounts {
    pub(super) fn published(&self, broker: &str, is_acknowledged: bool) {
        if let Some(counts) = self.of(broker) {
            let count = if is_acknowledged { &counts.acknowledged } else { &counts.failed };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn connected(&self, broker: &str) {
        if let Some(counts) = self.of(broker) {
            counts.connected.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts of all kinds, combined with the state of their connections in `reports`.
    pub(super) fn all(&self, reports: &[BrokerReport]) -> Vec<BrokerCounts> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = |(broker, counts): (&'static str, &EventCounts)| {
            let many = |is: fn(&&BrokerReport) -> bool| {
                reports.iter().filter(|report| report.broker == broker).filter(is).count() as u64
            };
            BrokerCounts {
                broker,
                acknowledged: read(&counts.acknowledged),
                failed: read(&counts.failed),
                connected: read(&counts.connected),
                open: many(|report| report.is_open),
                unreachable: many(|report| report.failing.is_some()),
            }
        };
        KINDS.into_iter().zip(&self.0).map(counts).collect()
    }

    fn of(&self, broker: &str) -> Option<&EventCounts> {
        Some(&self.0[KINDS.iter().position(|kind| *kind == broker)?])
    }
}
