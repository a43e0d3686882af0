//! Which servers of queues could be reached, for health and metrics. Nothing here decides whether a
//! server is called: each event is sent, so a server that is back is found by the next one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::{
    clock::Clock,
    target::{
        BrokerReport,
        publish::{pool::FORGET, problem::PublishProblem, report::LinkEvents},
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
    events: Arc<LinkEvents>,
    /// Whether the last call reached the server, and since when that is so; `None` before the end
    /// of the first call.
    reached: Option<(bool, Instant)>,
    /// When a call last reached the server.
    heard: Option<Instant>,
    /// When and why a call last did not reach the server.
    last_error: Option<(Instant, String)>,
}

impl ServerState {
    fn set_reached(&mut self, is_reached: bool, now: Instant) {
        if self.reached.is_none_or(|(before, _)| before != is_reached) {
            self.reached = Some((is_reached, now));
        }
    }
}

impl QueueServers {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, servers: Mutex::default() }
    }

    /// The events that are sent to a server. If too many servers are known, they are not reported.
    pub(super) fn events(&self, server: &str) -> Arc<LinkEvents> {
        let now = self.clock.instant();
        let mut servers = self.servers();
        if let Some(known) = servers.get_mut(server) {
            known.used = now;
            return known.events.clone();
        }
        if servers.len() >= MAX_SERVERS {
            servers.retain(|_, state| now.saturating_duration_since(state.used) < FORGET);
        }
        let events = Arc::<LinkEvents>::default();
        if servers.len() < MAX_SERVERS {
            let state = ServerState {
                used: now,
                events: events.clone(),
                reached: None,
                heard: None,
                last_error: None,
            };
            servers.insert(server.to_owned(), state);
        }
        events
    }

    /// Records the end of a call: why it did not reach the server, or nothing if it did.
    pub(super) fn record(&self, server: &str, unreached: Option<&PublishProblem>) {
        let now = self.clock.instant();
        let mut servers = self.servers();
        let Some(state) = servers.get_mut(server) else { return };
        state.used = now;
        state.set_reached(unreached.is_none(), now);
        match unreached {
            Some(problem) => state.last_error = Some((now, problem.to_string())),
            None => state.heard = Some(now),
        }
    }

    /// Records that an event that was given at `since` was not acknowledged in time. A server that
    /// has answered anything since then is only slow.
    pub(super) fn record_late(&self, server: &str, since: Instant, why: String) {
        let now = self.clock.instant();
        let mut servers = self.servers();
        let Some(state) = servers.get_mut(server) else { return };
        if state.heard.is_none_or(|heard| heard < since) {
            state.set_reached(false, now);
        }
        state.last_error = Some((now, why));
    }

    /// The state of all servers that are in use.
    pub(super) fn reports(&self) -> Vec<BrokerReport> {
        let now = self.clock.instant();
        let ago = |at: Instant| now.saturating_duration_since(at);
        let servers = self.servers();
        let used = servers.iter().filter(|(_, state)| ago(state.used) < FORGET);
        used.map(|(server, state)| {
            let last_error = state.last_error.as_ref().map(|(at, why)| (ago(*at), why.clone()));
            let is_unreachable = matches!(state.reached, Some((false, _)));
            let [acknowledged, failed, waiting] = state.events.counts();
            BrokerReport {
                broker: "sqs",
                place: server.clone(),
                is_open: matches!(state.reached, Some((true, _))),
                failing: last_error.clone().filter(|_| is_unreachable),
                since: state.reached.map(|(_, since)| ago(since)),
                acknowledged,
                failed,
                waiting,
                last_error,
            }
        })
        .collect()
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<String, ServerState>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn servers_that_are_no_longer_used_are_not_reported_and_make_room() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let servers = QueueServers::new(manual.clock());
        for number in 0..=MAX_SERVERS {
            servers.events(&format!("http://queue-{number}.test"));
        }
        assert_eq!(servers.reports().len(), MAX_SERVERS);
        manual.pass(FORGET);
        assert!(servers.reports().is_empty());
        servers.events("http://other.test");
        assert_eq!(servers.servers().len(), 1);
    }

    #[test]
    fn a_server_is_reported_with_its_events_and_its_last_error() {
        const SERVER: &str = "http://queue.test";
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let servers = QueueServers::new(manual.clock());
        let events = servers.events(SERVER);
        let unused =
            BrokerReport { broker: "sqs", place: SERVER.to_owned(), ..BrokerReport::default() };
        assert_eq!(servers.reports(), std::slice::from_ref(&unused));

        events.begin().published(false);
        servers.record(SERVER, Some(&PublishProblem::broken("refused")));
        manual.pass(Duration::from_secs(5));
        let waiting = events.begin();
        let away = Some((Duration::from_secs(5), "refused".to_owned()));
        let refused = BrokerReport {
            failing: away.clone(),
            since: Some(Duration::from_secs(5)),
            failed: 1,
            waiting: 1,
            last_error: away.clone(),
            ..unused
        };
        assert_eq!(servers.reports(), std::slice::from_ref(&refused));

        waiting.published(true);
        servers.record(SERVER, None);
        let back = BrokerReport {
            is_open: true,
            failing: None,
            since: Some(Duration::ZERO),
            acknowledged: 1,
            waiting: 0,
            ..refused
        };
        assert_eq!(servers.reports(), [back]);
    }

    #[test]
    fn a_server_is_away_if_it_answers_nothing_while_an_event_waits() {
        const SERVER: &str = "http://queue.test";
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let clock = manual.clock();
        let servers = QueueServers::new(clock.clone());
        servers.events(SERVER);
        let since = clock.instant();
        manual.pass(Duration::from_secs(1));
        servers.record(SERVER, None);
        manual.pass(Duration::from_secs(1));
        servers.record_late(SERVER, since, "late".to_owned());
        let [report]: [BrokerReport; 1] = servers.reports().try_into().unwrap();
        assert!(report.is_open && report.failing.is_none(), "slow: {report:?}");
        assert_eq!(report.last_error, Some((Duration::ZERO, "late".to_owned())));

        let since = clock.instant();
        manual.pass(Duration::from_secs(5));
        servers.record_late(SERVER, since, "silent".to_owned());
        let [report]: [BrokerReport; 1] = servers.reports().try_into().unwrap();
        assert!(!report.is_open, "{report:?}");
        assert_eq!(report.failing, Some((Duration::ZERO, "silent".to_owned())));
    }
}
