//! The brokers of a cluster, and the connections to the leaders of partitions.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    link::{KafkaProtocol, KafkaRequest},
    requests::{ProducerIdAnswer, metadata, producer_id},
    sasl::sign_in,
    topics::{Topic, Topics},
};
use crate::target::publish::{
    definition::Kafka,
    dial::{CONNECT, Dialer},
    link::Link,
    place::HostPort,
    problem::PublishProblem,
};

/// How long the cluster may take to answer a look-up.
const LOOK_UP: Duration = Duration::from_secs(10);

/// The attempts to connect to a broker.
#[derive(Default)]
struct ConnectAttempts {
    count: AtomicU64,
    /// Held during an attempt. It has the problem of the last one, if that failed.
    turn: tokio::sync::Mutex<Option<PublishProblem>>,
}

pub(super) struct KafkaCluster {
    dialer: Arc<Dialer>,
    kafka: Kafka,
    /// The broker that was reached first.
    first: Arc<Link<KafkaRequest>>,
    /// The connections to leaders of partitions, by host and port.
    links: Mutex<HashMap<HostPort, Arc<Link<KafkaRequest>>>>,
    /// The attempts to connect to each broker, one at a time. Each broker has its own, so that one
    /// that hangs delays no other.
    attempts: Mutex<HashMap<HostPort, Arc<ConnectAttempts>>>,
    topics: Topics,
}

impl KafkaCluster {
    pub(super) async fn connect(
        dialer: Arc<Dialer>,
        place: &HostPort,
        kafka: &Kafka,
    ) -> Result<Self, PublishProblem> {
        let first = open(&dialer, place, kafka).await?;
        Ok(Self {
            dialer,
            kafka: kafka.clone(),
            first: Arc::new(first),
            links: Mutex::default(),
            attempts: Mutex::default(),
            topics: Topics::default(),
        })
    }

    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// Whether any broker is connected.
    pub(super) fn is_open(&self) -> bool {
        self.first.is_open() || self.links().values().any(|link| link.is_open())
    }

    pub(super) fn heard(&self) -> u64 {
        self.first.heard() + self.links().values().map(|link| link.heard()).sum::<u64>()
    }

    /// The number of partitions of a topic.
    pub(super) async fn partitions(self: &Arc<Self>, topic: &str) -> Result<i32, PublishProblem> {
        Ok(self.topic(topic).await?.partitions())
    }

    /// A connection to the leader of a partition.
    pub(super) async fn leader(
        self: &Arc<Self>,
        topic: &str,
        partition: i32,
    ) -> Result<Arc<Link<KafkaRequest>>, PublishProblem> {
        let topic = self.topic(topic).await?;
        self.link(topic.leader(partition)?).await
    }

    /// Requests an id under which batches are numbered.
    pub(super) async fn producer_id(&self) -> Result<ProducerIdAnswer, PublishProblem> {
        let _place = self.topics.place().await;
        let link = self.any()?;
        self.in_time(producer_id(&link)).await
    }

    /// Drops the cached leaders of a topic, so that they are looked up again.
    pub(super) fn forget(&self, topic: &str) {
        self.topics.forget(topic, self.dialer.clock.instant());
    }

    /// Any connected broker.
    fn any(&self) -> Result<Arc<Link<KafkaRequest>>, PublishProblem> {
        let links = self.links();
        let mut known = links.values().chain([&self.first]);
        known.find(|link| link.is_open()).cloned().ok_or_else(PublishProblem::unsent)
    }

    async fn topic(self: &Arc<Self>, name: &str) -> Result<Topic, PublishProblem> {
        let slot = self.topics.slot(name, self.dialer.clock.instant());
        let (place, mut known) = loop {
            if let Some(topic) = self.believed(slot.lock().await.as_ref()) {
                return Ok(topic);
            }
            // The slot is free meanwhile: a caller that waits for the places of its namespace keeps
            // no other namespace from the topic.
            let place = self.topics.place().await;
            let Ok(known) = slot.clone().try_lock_owned() else { continue };
            if let Some(topic) = self.believed(known.as_ref()) {
                return Ok(topic);
            }
            break (place, known);
        };
        let (cluster, name) = (self.clone(), name.to_owned());
        // A task of its own, because the brokers answer even if the caller is gone.
        let looked_up = tokio::spawn(async move {
            let _place = place;
            let found = cluster.look_up(&name).await;
            if let Ok(found) = &found {
                cluster.topics.found(found);
                *known = Some(found.clone());
            }
            found
        });
        looked_up.await.unwrap_or_else(|_| Err(PublishProblem::unsent()))
    }

    /// The topic as it was looked up, unless that is outdated.
    fn believed(&self, known: Option<&Topic>) -> Option<Topic> {
        let now = self.dialer.clock.instant();
        known.filter(|topic| topic.is_believed(now)).cloned()
    }

    async fn look_up(&self, name: &str) -> Result<Topic, PublishProblem> {
        let (link, asked) = (self.any()?, self.dialer.clock.instant());
        Topic::read(name, self.in_time(metadata(&link, name)).await?, asked)
    }

    /// Waits for the cluster's answer.
    async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, PublishProblem>>,
    ) -> Result<T, PublishProblem> {
        self.dialer.clock.timeout(LOOK_UP, answer).await.unwrap_or_else(|_| {
            let seconds = LOOK_UP.as_secs();
            Err(PublishProblem::broken(format!("the cluster did not answer within {seconds} s")))
        })
    }

    async fn link(&self, place: &HostPort) -> Result<Arc<Link<KafkaRequest>>, PublishProblem> {
        let found = || self.links().get(place).filter(|link| link.is_open()).cloned();
        if let Some(link) = found() {
            return Ok(link);
        }
        let attempts = self.attempts(place);
        let before = attempts.count.load(Ordering::Acquire);
        let mut last = attempts.turn.lock().await;
        if let Some(link) = found() {
            return Ok(link);
        }
        // Callers that waited during an attempt share its result.
        if attempts.count.load(Ordering::Acquire) != before
            && let Some(problem) = &*last
        {
            return Err(problem.clone());
        }
        let opening = open(&self.dialer, place, &self.kafka);
        let opened = self.dialer.clock.timeout(CONNECT, opening).await.unwrap_or_else(|_| {
            let seconds = CONNECT.as_secs();
            let text = format!("could not connect to {place} within {seconds} s");
            Err(PublishProblem::broken(text))
        });
        attempts.count.fetch_add(1, Ordering::AcqRel);
        *last = opened.as_ref().err().cloned();
        let link = Arc::new(opened?);
        self.links().insert(place.clone(), link.clone());
        Ok(link)
    }

    fn attempts(&self, place: &HostPort) -> Arc<ConnectAttempts> {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.entry(place.clone()).or_default().clone()
    }

    fn links(&self) -> MutexGuard<'_, HashMap<HostPort, Arc<Link<KafkaRequest>>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open(
    dialer: &Dialer,
    place: &HostPort,
    kafka: &Kafka,
) -> Result<Link<KafkaRequest>, PublishProblem> {
    let stream = dialer.dial(place, kafka.connection.tls).await?;
    let link = Link::start(stream, KafkaProtocol::default(), dialer.clock.clone());
    match sign_in(&link, kafka).await {
        Ok(()) => Ok(link),
        Err(problem) => {
            Err(PublishProblem::broken(format!("{place} refused the sign-in: {problem}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, io, net::SocketAddr};

    use chrono::DateTime;
    use futures::{FutureExt, future::join};
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

    /// A cluster whose names are never resolved, and the address of its only broker.
    async fn connected(clock: Clock) -> (KafkaCluster, HostPort, TcpListener) {
        let egress = EgressGuard::new(true);
        let resolver =
            Resolver::asking(egress, |_| Box::pin(pending::<io::Result<Vec<SocketAddr>>>()));
        let tls = tls::config(&Arc::new(RootCertStore::empty())).unwrap().with_no_client_auth();
        let dialer = Arc::new(Dialer::new(resolver, egress, tls, clock));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap().to_string();
        let place = HostPort::read(&server, 9092).unwrap();
        let kafka = json!({ "connection": { "servers": [server] }, "topic": "orders" });
        let kafka: Kafka = serde_json::from_value(kafka).unwrap();
        let cluster = KafkaCluster::connect(dialer, &place, &kafka).await.ok().unwrap();
        (cluster, place, listener)
    }

    #[tokio::test]
    async fn a_broker_that_hangs_delays_no_connection_to_another() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let (cluster, place, _listener) = connected(manual.clock()).await;
        let hangs = HostPort::read("hangs.test", 9092).unwrap();
        let mut hanging = Box::pin(cluster.link(&hangs));
        assert!((&mut hanging).now_or_never().is_none());
        let other = Clock::system().timeout(CONNECT, cluster.link(&place)).await;
        assert!(other.is_ok_and(|link| link.is_ok()), "it waits for the broker that hangs");
    }

    #[tokio::test]
    async fn all_that_wait_for_a_broker_that_hangs_wait_once() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let (cluster, _, _listener) = connected(manual.clock()).await;
        let hangs = HostPort::read("hangs.test", 9092).unwrap();
        let mut all = Box::pin(join(cluster.link(&hangs), cluster.link(&hangs)));
        assert!((&mut all).now_or_never().is_none());
        manual.advance(CONNECT);
        let all = Clock::system().timeout(CONNECT, all).await;
        assert!(all.is_ok_and(|(first, second)| first.is_err() && second.is_err()));
    }
}
