use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Meter},
};

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// All places for connections are taken.
    Full,
    /// The address has reached the limit per address.
    Address,
}

impl ConnectionRefusal {
    fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Address => "address",
        }
    }
}

/// The number of HTTP connections, compared with their limit.
#[derive(Clone)]
pub(super) struct OpenConnections {
    open: Gauge<u64>,
    limit: Gauge<u64>,
    refused: Counter<u64>,
}

impl OpenConnections {
    pub(super) fn of(meter: &Meter) -> Self {
        let gauge = |name, text| meter.u64_gauge(name).with_description(text).build();
        let refused = meter
            .u64_counter("carillon.connections_refused")
            .with_description("Connections refused, by reason: only probes are answered.")
            .build();
        for reason in [ConnectionRefusal::Full, ConnectionRefusal::Address] {
            refused.add(0, &[KeyValue::new("reason", reason.word())]);
        }
        Self {
            open: gauge("carillon.connections", "Open HTTP connections, including WebSockets."),
            limit: gauge("carillon.connections_limit", "Maximum number of open HTTP connections."),
            refused,
        }
    }

    pub(super) fn record(&self, open: usize, limit: usize) {
        self.open.record(open as u64, &[]);
        self.limit.record(limit as u64, &[]);
    }

    pub(super) fn refused(&self, reason: ConnectionRefusal) {
        self.refused.add(1, &[KeyValue::new("reason", reason.word())]);
    }
}
