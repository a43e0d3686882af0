//! The brokers of a cluster, and the leaders of partitions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    codes,
    link::{KafkaProtocol, KafkaRequest},
    requests::{Metadata, metadata},
    sasl::sign_in,
};
use crate::target::publish::{
    definition::Kafka,
    dial::{CONNECT, Dialer},
    link::Link,
    place::HostPort,
    problem::PublishProblem,
};

/// How long a topic's leaders are cached. A wrong entry is looked up again at once.
const BELIEVED: Duration = Duration::from_secs(300);
/// Maximum number of partitions of one topic.
const MAX_PARTITIONS: i32 = 100_000;
/// Maximum number of cached topics. Beyond it, all are dropped, which costs one request each.
const MAX_TOPICS: usize = 10_000;

pub(super) struct KafkaCluster {
    dialer: Arc<Dialer>,
    kafka: Kafka,
    /// The broker that was reached first.
    first: Arc<Link<KafkaRequest>>,
    /// The connections to leaders of partitions, by host and port.
    links: Mutex<HashMap<HostPort, Arc<Link<KafkaRequest>>>>,
    /// Allows only one connection attempt at a time. Callers that waited then find the connection.
    connecting: tokio::sync::Mutex<()>,
    topics: Mutex<HashMap<String, Topic>>,
}

#[derive(Clone)]
struct Topic {
    /// The address of each partition's leader; `None` for a partition without a leader.
    leaders: Arc<Vec<Option<HostPort>>>,
    asked: Instant,
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
            connecting: tokio::sync::Mutex::default(),
            topics: Mutex::default(),
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
    pub(super) async fn partitions(&self, topic: &str) -> Result<i32, PublishProblem> {
        let leaders = self.topic(topic).await?.leaders;
        Ok(i32::try_from(leaders.len()).unwrap_or(i32::MAX))
    }

    /// A connection to the leader of a partition.
    pub(super) async fn leader(
        &self,
        topic: &str,
        partition: i32,
    ) -> Result<Arc<Link<KafkaRequest>>, PublishProblem> {
        let leaders = self.topic(topic).await?.leaders;
        let index = usize::try_from(partition).unwrap_or(usize::MAX);
        match leaders.get(index) {
            Some(Some(place)) => self.link(place).await,
            Some(None) => Err(PublishProblem::broken("the partition has no leader")),
            None => Err(PublishProblem::refused("the topic has lost that partition")),
        }
    }

    /// Drops the cached leaders of a topic, so that they are looked up again.
    pub(super) fn forget(&self, topic: &str) {
        self.topics().remove(topic);
    }

    /// Any connected broker.
    pub(super) fn any(&self) -> Result<Arc<Link<KafkaRequest>>, PublishProblem> {
        let links = self.links();
        let mut known = links.values().chain([&self.first]);
        known.find(|link| link.is_open()).cloned().ok_or_else(PublishProblem::unsent)
    }

    async fn topic(&self, name: &str) -> Result<Topic, PublishProblem> {
        let now = self.dialer.clock.instant();
        let known = self.topics().get(name).cloned();
        if let Some(known) = known.filter(|known| now.duration_since(known.asked) < BELIEVED) {
            return Ok(known);
        }
        let Metadata { brokers, error, partitions } = metadata(&*self.any()?, name).await?;
        match error {
            codes::NONE => {}
            codes::UNKNOWN_TOPIC => {
                return Err(PublishProblem::refused(format!("there is no topic {name}")));
            }
            code => return Err(PublishProblem::refused(codes::text(code))),
        }
        let places: HashMap<i32, HostPort> = brokers
            .into_iter()
            .filter_map(|(number, host, port)| {
                let port = u16::try_from(port).ok()?;
                let host = if host.contains(':') { format!("[{host}]") } else { host };
                Some((number, HostPort::read(&host, port).ok()?))
            })
            .collect();
        let count = partitions.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
        if !(1..=MAX_PARTITIONS).contains(&count) {
            return Err(PublishProblem::refused(format!("the topic {name} has no partitions")));
        }
        let mut leaders = vec![None; usize::try_from(count).unwrap_or(0)];
        for (number, leader) in partitions {
            if let Some(slot) = usize::try_from(number).ok().and_then(|at| leaders.get_mut(at)) {
                *slot = places.get(&leader).cloned();
            }
        }
        let topic = Topic { leaders: Arc::new(leaders), asked: now };
        let mut topics = self.topics();
        if topics.len() >= MAX_TOPICS {
            topics.clear();
        }
        topics.insert(name.to_owned(), topic.clone());
        Ok(topic)
    }

    async fn link(&self, place: &HostPort) -> Result<Arc<Link<KafkaRequest>>, PublishProblem> {
        let found = || self.links().get(place).filter(|link| link.is_open()).cloned();
        if let Some(link) = found() {
            return Ok(link);
        }
        let _turn = self.connecting.lock().await;
        if let Some(link) = found() {
            return Ok(link);
        }
        let opening = open(&self.dialer, place, &self.kafka);
        let link = self.dialer.clock.timeout(CONNECT, opening).await.map_err(|_| {
            let seconds = CONNECT.as_secs();
            PublishProblem::broken(format!("could not connect to {place} within {seconds} s"))
        })??;
        let link = Arc::new(link);
        self.links().insert(place.clone(), link.clone());
        Ok(link)
    }

    fn links(&self) -> MutexGuard<'_, HashMap<HostPort, Arc<Link<KafkaRequest>>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<String, Topic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
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
