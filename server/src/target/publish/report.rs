use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::telemetry::BrokerCounts;

/// The state of a connection to a broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// For how long the connection has been open, or the broker unreachable; `None` if neither is
    /// the case.
    pub since: Option<Duration>,
    /// Number of events that the broker has acknowledged.
    pub acknowledged: u64,
    /// Number of attempts to publish an event that failed.
    pub failed: u64,
    /// Number of events that wait for the connection or for their acknowledgement.
    pub waiting: u64,
    /// How long ago connecting last failed or the connection last broke, and why. It stays when the
    /// broker can be reached again.
    pub last_error: Option<(Duration, String)>,
}

/// Counts the events on one connection.
#[derive(Debug, Default)]
pub(super) struct LinkEvents {
    acknowledged: AtomicU64,
    failed: AtomicU64,
    waiting: AtomicU64,
}

/// An event that is being published. Dropping it means that it no longer waits.
pub(super) struct WaitingEvent<'a>(&'a LinkEvents);

impl LinkEvents {
    /// Counts an event until the result is dropped.
    pub(super) fn begin(&self) -> WaitingEvent<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingEvent(self)
    }

    /// The numbers of acknowledged, failed and waiting events.
    pub(super) fn counts(&self) -> [u64; 3] {
        [&self.acknowledged, &self.failed, &self.waiting].map(|count| count.load(Ordering::Relaxed))
    }
}

impl WaitingEvent<'_> {
    /// Counts the outcome of the event.
    pub(super) fn published(self, is_acknowledged: bool) {
        let count = if is_acknowledged { &self.0.acknowledged } else { &self.0.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for WaitingEvent<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
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
