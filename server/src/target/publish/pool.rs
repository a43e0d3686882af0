//! The connections to brokers, shared by all tasks with the same connection settings. If a
//! connection breaks, the next attempt that needs it opens it again.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use super::{
    check::default_port,
    definition::Broker,
    dial::{CONNECT, Dialer},
    event::Message,
    place::HostPort,
    problem::PublishProblem,
    report::{BrokerReport, LinkEvents, PublishCounts},
};
use crate::target::egress::{for_namespace, namespace};

#[cfg(feature = "kafka")]
use super::kafka;
#[cfg(not(feature = "kafka"))]
use super::missing as kafka;
#[cfg(not(feature = "nats"))]
use super::missing as nats;
#[cfg(not(feature = "rabbitmq"))]
use super::missing as rabbitmq;
#[cfg(not(feature = "redis-streams"))]
use super::missing as redis;
#[cfg(feature = "nats")]
use super::nats;
#[cfg(feature = "rabbitmq")]
use super::rabbitmq;
#[cfg(feature = "redis-streams")]
use super::redis;

/// An open connection to a broker.
#[async_trait]
pub(super) trait BrokerSession: Send + Sync {
    /// Publishes an event. When the broker has acknowledged it, returns where the event is stored.
    async fn publish(&self, to: &Broker, message: &Message) -> Result<Value, PublishProblem>;

    /// Whether the session accepts more events.
    fn is_open(&self) -> bool;

    /// A number that changes when anything is received on the connection.
    fn heard(&self) -> u64;
}

/// A digest of all settings that distinguish connections, including the secrets.
type Key = [u8; 32];

/// Maximum number of different connections.
const MAX_LINKS: usize = 1_000;
/// A connection that is unused for this long is dropped, and no longer reported.
pub(super) const FORGET: Duration = Duration::from_secs(600);

pub(super) struct BrokerPool {
    dialer: Arc<Dialer>,
    links: Mutex<HashMap<Key, Arc<PooledConnection>>>,
    counted: Arc<PublishCounts>,
}

/// A connection with its history.
pub(super) struct PooledConnection {
    broker: &'static str,
    place: String,
    /// Held while connecting, so that callers share one attempt.
    connecting: Arc<tokio::sync::Mutex<()>>,
    /// The number of attempts to connect.
    tries: AtomicU64,
    events: LinkEvents,
    state: Mutex<LinkState>,
}

struct LinkState {
    session: Option<Arc<dyn BrokerSession>>,
    used: Instant,
    failed: Option<(Instant, PublishProblem)>,
    /// When the current connection was opened.
    opened: Option<Instant>,
    /// When connecting first failed, since the last success.
    unreachable: Option<Instant>,
    /// When connecting last failed or the connection last broke, and why.
    last_error: Option<(Instant, String)>,
}

impl LinkState {
    fn unused(now: Instant) -> Self {
        Self {
            session: None,
            used: now,
            failed: None,
            opened: None,
            unreachable: None,
            last_error: None,
        }
    }

    fn connected(&mut self, now: Instant, session: Arc<dyn BrokerSession>) {
        (self.session, self.failed) = (Some(session), None);
        (self.opened, self.unreachable) = (Some(now), None);
    }

    fn refused(&mut self, now: Instant, problem: &PublishProblem) {
        self.failed = Some((now, problem.clone()));
        self.opened = None;
        self.unreachable.get_or_insert(now);
        self.last_error = Some((now, problem.to_string()));
    }

    /// The session, if it is open.
    fn open(&self) -> Option<&Arc<dyn BrokerSession>> {
        self.session.as_ref().filter(|session| session.is_open())
    }
}

impl BrokerPool {
    pub(super) fn new(dialer: Arc<Dialer>) -> Self {
        Self { dialer, links: Mutex::default(), counted: Arc::default() }
    }

    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(super) fn counted(&self) -> &PublishCounts {
        &self.counted
    }

    /// The shared connection for a definition's broker, open or not.
    pub(super) fn link(&self, broker: &Broker) -> Result<Arc<PooledConnection>, PublishProblem> {
        let now = self.dialer.clock.instant();
        let key = key(broker);
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = links.get(&key) {
            found.state().used = now;
            return Ok(found.clone());
        }
        links.retain(|_, link| now.duration_since(link.state().used) < FORGET);
        if links.len() >= MAX_LINKS {
            let text = format!("this node already publishes to {MAX_LINKS} places");
            return Err(PublishProblem::refused(text));
        }
        let link = Arc::new(PooledConnection {
            broker: broker.name(),
            place: broker.origin().unwrap_or_default(),
            connecting: Arc::default(),
            tries: AtomicU64::new(0),
            events: LinkEvents::default(),
            state: Mutex::new(LinkState::unused(now)),
        });
        links.insert(key, link.clone());
        Ok(link)
    }

    /// The open session of the link; connects if there is none. Callers that wait during a
    /// connection attempt share its result.
    pub(super) async fn session(
        &self,
        link: &Arc<PooledConnection>,
        broker: &Broker,
    ) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
        let tries = link.tries.load(Ordering::Acquire);
        // An open session needs no turn.
        if let Some(open) = link.state().open() {
            return Ok(open.clone());
        }
        let turn = link.connecting.clone().lock_owned().await;
        {
            let mut state = link.state();
            if let Some(open) = state.open() {
                return Ok(open.clone());
            }
            state.session = None;
            if link.tries.load(Ordering::Acquire) != tries
                && let Some((_, problem)) = &state.failed
            {
                return Err(problem.clone());
            }
        }
        // A task of its own, because it goes on although the caller's time is over. If each event
        // began with the first server anew, none would get past one that hangs for longer than an
        // event has time.
        let (dialer, counted) = (self.dialer.clone(), self.counted.clone());
        let connecting = open_link(dialer, counted, link.clone(), broker.clone(), turn);
        let connecting = match namespace() {
            Some(namespace) => tokio::spawn(for_namespace(namespace, connecting)),
            None => tokio::spawn(connecting),
        };
        let gone = |_| Err(PublishProblem::broken("the connection was not opened"));
        connecting.await.unwrap_or_else(gone)
    }

    /// Records why a connection broke or was given up.
    pub(super) fn note_break(&self, link: &PooledConnection, why: String) {
        link.state().last_error = Some((self.dialer.clock.instant(), why));
    }

    /// The state of all connections that are in use.
    pub(super) fn reports(&self) -> Vec<BrokerReport> {
        let now = self.dialer.clock.instant();
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let report = |link: &Arc<PooledConnection>| {
            let state = link.state();
            let open = state.open().is_some();
            let ago = |at: Instant| now.saturating_duration_since(at);
            let [acknowledged, failed, waiting] = link.events.counts();
            BrokerReport {
                broker: link.broker,
                place: link.place.clone(),
                is_open: open,
                failing: state
                    .failed
                    .as_ref()
                    .map(|(since, problem)| (ago(*since), problem.to_string())),
                since: if open { state.opened } else { state.unreachable }.map(ago),
                acknowledged,
                failed,
                waiting,
                last_error: state.last_error.as_ref().map(|(at, why)| (ago(*at), why.clone())),
            }
        };
        // A broker that is no longer used is not reported as a problem.
        let is_used =
            |link: &&Arc<PooledConnection>| now.duration_since(link.state().used) < FORGET;
        links.values().filter(is_used).map(report).collect()
    }
}

/// Connects in the caller's turn, and records the result.
async fn open_link(
    dialer: Arc<Dialer>,
    counted: Arc<PublishCounts>,
    link: Arc<PooledConnection>,
    broker: Broker,
    _turn: OwnedMutexGuard<()>,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    let made = connect(&dialer, &broker).await;
    link.tries.fetch_add(1, Ordering::AcqRel);
    let now = dialer.clock.instant();
    match made {
        Ok(made) => {
            counted.connected(link.broker);
            link.state().connected(now, made.clone());
            Ok(made)
        }
        Err(problem) => {
            link.state().refused(now, &problem);
            Err(problem)
        }
    }
}

/// Connects to the first of the broker's servers that can be reached.
async fn connect(
    dialer: &Arc<Dialer>,
    broker: &Broker,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    let servers = broker.connection().map_or(&[][..], |connection| &connection.servers);
    let mut last = None;
    for server in servers {
        let place = HostPort::read(server, default_port(broker)).map_err(PublishProblem::broken)?;
        let connecting = connect_to(dialer, broker, &place);
        match dialer.clock.timeout(CONNECT, connecting).await {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(problem)) => last = Some(problem),
            Err(_) => {
                let seconds = CONNECT.as_secs();
                let text = format!("could not connect to {place} within {seconds} s");
                last = Some(PublishProblem::broken(text));
            }
        }
    }
    Err(last.unwrap_or_else(|| PublishProblem::broken("there is no server to connect to")))
}

async fn connect_to(
    dialer: &Arc<Dialer>,
    broker: &Broker,
    place: &HostPort,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    match broker {
        Broker::Kafka(definition) => kafka::connect(dialer, place, definition).await,
        Broker::Nats(definition) => nats::connect(dialer, place, definition).await,
        Broker::Rabbitmq(definition) => rabbitmq::connect(dialer, place, definition).await,
        Broker::Redis(definition) => redis::connect(dialer, place, definition).await,
        Broker::Sqs(_) => Err(PublishProblem::broken("SQS is reached by requests")),
    }
}

impl PooledConnection {
    /// The events that are published on the connection.
    pub(super) fn events(&self) -> &LinkEvents {
        &self.events
    }

    /// The broker and its servers.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Stops using a session on which nothing is received.
    pub(super) fn give_up(&self, silent: &Arc<dyn BrokerSession>) {
        let mut state = self.state();
        if state.session.as_ref().is_some_and(|current| Arc::ptr_eq(current, silent)) {
            state.session = None;
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for BrokerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrokerPool").finish_non_exhaustive()
    }
}

/// The key of a connection: a digest of its settings, because they include secrets.
fn key(broker: &Broker) -> Key {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    add(broker.name());
    match broker {
        Broker::Rabbitmq(rabbitmq) => add(&rabbitmq.vhost),
        Broker::Redis(redis) => add(&redis.database.to_string()),
        Broker::Kafka(kafka) => add(&format!("{:?}", kafka.sasl)),
        Broker::Nats(_) | Broker::Sqs(_) => {}
    }
    if let Some(connection) = broker.connection() {
        connection.servers.iter().for_each(|server| add(server));
        add(if connection.tls { "tls" } else { "plain" });
        add(connection.username.as_deref().unwrap_or_default());
        add(connection.password.as_ref().map_or("", |password| password.expose()));
    }
    hash.finalize().into()
}

#[cfg(all(test, feature = "kafka"))]
mod tests {
    use std::{future::pending, io, net::SocketAddr};

    use chrono::DateTime;
    use futures::FutureExt;
    use rustls::RootCertStore;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;
    use crate::{
        clock::{Clock, ManualClock},
        target::{
            egress::{EgressGuard, Resolver},
            tls,
        },
    };

    #[tokio::test]
    async fn a_server_that_hangs_for_longer_than_an_event_has_time_is_passed_over() {
        let egress = EgressGuard::new(true);
        let resolver =
            Resolver::asking(egress, |_| Box::pin(pending::<io::Result<Vec<SocketAddr>>>()));
        let tls = tls::config(&Arc::new(RootCertStore::empty())).unwrap().with_no_client_auth();
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let dialer = Dialer::new(resolver, egress, tls, manual.clock());
        let pool = BrokerPool::new(Arc::new(dialer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let servers = ["hangs.test:9092".to_owned(), listener.local_addr().unwrap().to_string()];
        let broker =
            json!({ "kafka": { "connection": { "servers": servers }, "topic": "orders" } });
        let broker: Broker = serde_json::from_value(broker).unwrap();
        let link = pool.link(&broker).unwrap();

        // The time limit of the first event passes at once.
        assert!(pool.session(&link, &broker).now_or_never().is_none());
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        manual.advance(CONNECT);
        let session = Clock::system().timeout(CONNECT, pool.session(&link, &broker)).await;
        assert!(session.is_ok_and(|session| session.is_ok()), "the first server hangs again");
    }
}
