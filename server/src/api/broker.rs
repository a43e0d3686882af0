//! The brokers to which the answering node publishes events.

use std::time::Duration;

use async_graphql::{Context, Enum, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    context::ContextExt,
    scalar::{Instant, Long},
};
use crate::{engine::cluster::Cluster, target::BrokerReport};

/// A broker to which the answering node has published within the last ten minutes.
#[derive(SimpleObject)]
pub(crate) struct BrokerStatus {
    /// The kind of the broker: `kafka`, `nats`, `rabbitmq`, `redis` or `sqs`.
    kind: String,
    /// The broker's servers, as tasks name them, without credentials: `nats://a:4222,b:4222`.
    address: String,
    /// Whether the node reaches the broker.
    state: BrokerState,
    /// Since when the node has been connected to the broker, or unable to reach it; null in the
    /// state IDLE.
    since: Option<Instant>,
    /// The number of events that the broker has acknowledged to this node.
    acknowledged: Long,
    /// The number of attempts of this node to publish an event that failed.
    failed: Long,
    /// The number of events that wait for the connection or for their acknowledgement.
    waiting: Long,
    /// Why connecting last failed or the connection last broke. It stays when the broker can be
    /// reached again.
    last_error: Option<String>,
    /// When connecting last failed or the connection last broke.
    last_error_at: Option<Instant>,
}

/// Whether a node reaches a broker.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BrokerState {
    /// The last attempt to connect failed.
    Unreachable,
    /// There is a connection.
    Connected,
    /// There is no connection at the moment; the next event opens one.
    Idle,
}

impl BrokerStatus {
    /// Up to `most` brokers, those first that cannot be reached.
    pub(crate) fn all(cx: &Context<'_>, most: usize) -> Vec<Self> {
        let now = cx.commands().clock.now();
        let reports = cx.data_unchecked::<Cluster>().brokers();
        let mut all: Vec<_> = reports.into_iter().map(|report| Self::of(report, now)).collect();
        all.sort_by(|a, b| a.order().cmp(&b.order()));
        all.truncate(most);
        all
    }

    fn order(&self) -> (BrokerState, &str) {
        (self.state, &self.address)
    }

    fn of(report: BrokerReport, now: DateTime<Utc>) -> Self {
        let ago = |age: Duration| {
            let at = TimeDelta::from_std(age).ok().and_then(|age| now.checked_sub_signed(age));
            at.map(Instant)
        };
        let state = match (report.is_open, &report.failing) {
            (true, _) => BrokerState::Connected,
            (false, Some(_)) => BrokerState::Unreachable,
            (false, None) => BrokerState::Idle,
        };
        let (age, last_error) = report.last_error.unzip();
        Self {
            kind: report.broker.to_owned(),
            address: report.place,
            state,
            since: report.since.and_then(ago),
            acknowledged: report.acknowledged.into(),
            failed: report.failed.into(),
            waiting: report.waiting.into(),
            last_error,
            last_error_at: age.and_then(ago),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_unreachable_only_while_no_connection_is_open() {
        let now = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::hours(1);
        let failing = Some((Duration::from_secs(3), "refused".to_owned()));
        for (is_open, failing, state) in [
            (true, None, BrokerState::Connected),
            (true, failing.clone(), BrokerState::Connected),
            (false, failing.clone(), BrokerState::Unreachable),
            (false, None, BrokerState::Idle),
        ] {
            let report = BrokerReport { is_open, failing, ..BrokerReport::default() };
            assert_eq!(BrokerStatus::of(report, now).state, state);
        }
        let report = BrokerReport {
            since: Some(Duration::from_mins(1)),
            last_error: failing,
            ..BrokerReport::default()
        };
        let status = BrokerStatus::of(report, now);
        assert_eq!(status.since, Some(Instant(now - TimeDelta::minutes(1))));
        assert_eq!(status.last_error_at, Some(Instant(now - TimeDelta::seconds(3))));
        assert_eq!(status.last_error.as_deref(), Some("refused"));
    }
}
