//! Which servers of queues could be reached, for health and metrics. Nothing here decides whether a
//! server is called: each event is sent, so a server that is back is found by the next one.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::{
    clock::Clock,
    target::{
        BrokerReport,
        publish::{pool::FORGET, problem::PublishProblem},
    },
};

/// Maximum number of servers whose state is kept.
const MAX_SERVERS: usize = 1_000;

/// The servers that were called, by their origin.
pub(super) struct QueueServers {
    clock: Clock,
    servers: Mutex<HashMap<String, ServerState>>,
}

struct ServerState {
    used: Instant,
    /// When and why the last call did not reach the server.
    failed: Option<(Instant, String)>,
}

impl QueueServers {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, servers: Mutex::default() }
    }

    /// Records the end of a call: why it did not reach the server, or nothing if it did.
    pub(super) fn record(&self, server: String, unreached: Option<&PublishProblem>) {
        let now = self.clock.instant();
        let failed = unreached.map(|problem| (now, problem.to_string()));
        let mut servers = self.servers();
        if servers.len() >= MAX_SERVERS && !servers.contains_key(&server) {
            servers.retain(|_, state| now.saturating_duration_since(state.used) < FORGET);
            if servers.len() >= MAX_SERVERS {
                return;
            }
        }
        servers.insert(server, ServerState { used: now, failed });
    }

    /// The state of all servers that are in use.
    pub(super) fn reports(&self) -> Vec<BrokerReport> {
        let now = self.clock.instant();
        let servers = self.servers();
        let used =
            servers.iter().filter(|(_, state)| now.saturating_duration_since(state.used) < FORGET);
        used.map(|(server, state)| BrokerReport {
            broker: "sqs",
            place: server.clone(),
            is_open: state.failed.is_none(),
            failing: state
                .failed
                .as_ref()
                .map(|(since, why)| (now.saturating_duration_since(*since), why.clone())),
        })
        .collect()
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<String, ServerState>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn servers_that_are_no_longer_used_are_not_reported_and_make_room() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let servers = QueueServers::new(manual.clock());
        let problem = PublishProblem::broken("refused");
        for number in 0..=MAX_SERVERS {
            servers.record(format!("http://queue-{number}.test"), Some(&problem));
        }
        assert_eq!(servers.reports().len(), MAX_SERVERS);
        manual.pass(FORGET);
        assert!(servers.reports().is_empty());
        servers.record("http://other.test".to_owned(), None);
        let report = BrokerReport {
            broker: "sqs",
            place: "http://other.test".to_owned(),
            is_open: true,
            failing: None,
        };
        assert_eq!(servers.reports(), [report]);
        assert_eq!(servers.servers().len(), 1);
    }
}
