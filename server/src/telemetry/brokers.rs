use std::sync::{Arc, OnceLock};

use opentelemetry::{KeyValue, metrics::Meter};

/// The counts of published events since this node started, by kind of broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerCounts {
    /// The name of the kind of broker.
    pub broker: &'static str,
    /// Events that were acknowledged.
    pub acknowledged: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Connections that were established.
    pub connected: u64,
    /// Connections that are open now.
    pub open: u64,
    /// Brokers that the last attempt could not reach.
    pub unreachable: u64,
}

/// Returns the current counts.
type CountSource = dyn Fn() -> Vec<BrokerCounts> + Send + Sync;

/// Reads the counts of published events from the code that publishes.
#[derive(Default)]
pub(super) struct Brokers {
    source: OnceLock<Box<CountSource>>,
}

impl Brokers {
    /// Registers gauges that read the counts on each scrape.
    pub(super) fn observed(meter: &Meter) -> Arc<Self> {
        let brokers = Arc::new(Self::default());
        let source = brokers.clone();
        meter
            .u64_observable_counter("carillon.published")
            .with_description("Attempts to publish an event, by broker and outcome.")
            .with_callback(move |observer| {
                for counts in source.now() {
                    let count = |outcome, count| {
                        let labels = [label(&counts), KeyValue::new("outcome", outcome)];
                        observer.observe(count, &labels);
                    };
                    count("acknowledged", counts.acknowledged);
                    count("failed", counts.failed);
                }
            })
            .build();
        let source = brokers.clone();
        meter
            .u64_observable_counter("carillon.broker_connections_made")
            .with_description("Connections established to brokers, including the first ones.")
            .with_callback(move |observer| {
                for counts in source.now() {
                    observer.observe(counts.connected, &[label(&counts)]);
                }
            })
            .build();
        type Read = fn(&BrokerCounts) -> u64;
        let gauges: [(&'static str, &'static str, Read); 2] = [
            ("carillon.broker_connections", "Open connections to brokers.", |counts| counts.open),
            (
                "carillon.brokers_unreachable",
                "Brokers that could not be reached at the last try.",
                |counts| counts.unreachable,
            ),
        ];
        for (name, description, read) in gauges {
            let source = brokers.clone();
            meter
                .u64_observable_gauge(name)
                .with_description(description)
                .with_callback(move |observer| {
                    for counts in source.now() {
                        observer.observe(read(&counts), &[label(&counts)]);
                    }
                })
                .build();
        }
        brokers
    }

    /// Sets the source of the counts, once.
    pub(super) fn tell(&self, source: impl Fn() -> Vec<BrokerCounts> + Send + Sync + 'static) {
        let _ = self.source.set(Box::new(source));
    }

    fn now(&self) -> Vec<BrokerCounts> {
        self.source.get().map_or_else(Vec::new, |source| source())
    }
}

fn label(counts: &BrokerCounts) -> KeyValue {
    KeyValue::new("broker", counts.broker)
}
