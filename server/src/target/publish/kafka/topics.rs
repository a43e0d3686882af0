//! The leaders of a topic's partitions, as the cluster reports them.
//!
//! A topic is looked up once for all who wait for it, and only a few topics at a time: otherwise a
//! namespace that publishes to ever new names would keep the brokers busy for all others that share
//! the connection. A look-up keeps its place until it is answered, even if its caller is gone.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{codes, requests::Metadata};
use crate::{
    bulkhead::{Bulkhead, BulkheadPlace},
    single_flight::{SingleFlight, Slot},
    target::{
        egress::namespace,
        publish::{place::HostPort, problem::PublishProblem},
    },
};

/// How long a topic's leaders are cached. A wrong entry is looked up again at once.
const BELIEVED: Duration = Duration::from_secs(300);
/// Maximum number of concurrent look-ups of a cluster: for all namespaces, and for each.
const MAX_AT_ONCE: usize = 16;
const MAX_OF_NAMESPACE: usize = 4;
/// Maximum number of partitions of one topic.
const MAX_PARTITIONS: i32 = 100_000;
/// Maximum number of cached partitions of all topics. Beyond it, all are dropped, which costs one
/// request for each topic.
const MAX_CACHED: usize = 200_000;
/// Below this number of topics, none is removed before it is outdated.
const FEW: usize = 1_000;

/// The topics of a cluster.
pub(super) struct Topics {
    places: Bulkhead<Uuid>,
    cached: Mutex<Cached>,
}

struct Cached {
    topics: Arc<SingleFlight<String, Topic>>,
    /// How many partitions were found since the topics were last dropped.
    partitions: usize,
}

impl Default for Topics {
    fn default() -> Self {
        let places = Bulkhead::new(MAX_AT_ONCE, MAX_OF_NAMESPACE);
        Self { places, cached: Mutex::new(Cached::new()) }
    }
}

impl Topics {
    /// Waits for a place to ask the cluster something, for the namespace of the current task. What
    /// belongs to no namespace shares the places of one.
    pub(super) async fn place(&self) -> BulkheadPlace {
        self.places.enter(namespace().unwrap_or_default()).await
    }

    /// The slot of a topic. The caller that holds its lock looks the topic up.
    pub(super) fn slot(&self, name: &str, now: Instant) -> Slot<Topic> {
        let topics = self.cached().topics.clone();
        topics.slot(name, |topic| topic.is_believed(now))
    }

    /// Counts what a look-up has found, and drops all topics if there are too many partitions.
    pub(super) fn found(&self, topic: &Topic) {
        let mut cached = self.cached();
        let partitions = cached.partitions.saturating_add(topic.leaders.len());
        if partitions > MAX_CACHED {
            *cached = Cached::new();
        } else {
            cached.partitions = partitions;
        }
    }

    /// Drops the leaders of a topic, so that they are looked up again, unless that is under way.
    pub(super) fn forget(&self, name: &str, now: Instant) {
        if let Ok(mut known) = self.slot(name, now).try_lock() {
            *known = None;
        }
    }

    fn cached(&self) -> MutexGuard<'_, Cached> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cached {
    fn new() -> Self {
        Self { topics: Arc::new(SingleFlight::new(FEW)), partitions: 0 }
    }
}

/// The leaders of a topic's partitions.
#[derive(Clone)]
pub(super) struct Topic {
    /// The number of each partition's leader, which has no address if there is no leader.
    leaders: Arc<[i32]>,
    places: Arc<HashMap<i32, HostPort>>,
    asked: Instant,
}

impl Topic {
    /// Reads what the cluster has answered at this instant.
    pub(super) fn read(
        name: &str,
        Metadata { brokers, error, partitions }: Metadata,
        asked: Instant,
    ) -> Result<Self, PublishProblem> {
        match error {
            codes::NONE => {}
            codes::UNKNOWN_TOPIC => {
                return Err(PublishProblem::refused(format!("there is no topic {name}")));
            }
            code => return Err(PublishProblem::refused(codes::text(code))),
        }
        let numbers = partitions.iter().map(|(number, _)| number.saturating_add(1));
        let count = numbers.max().unwrap_or(0);
        if !(1..=MAX_PARTITIONS).contains(&count) {
            return Err(PublishProblem::refused(format!("the topic {name} has no partitions")));
        }
        let mut leaders = vec![-1; usize::try_from(count).unwrap_or(0)];
        for (number, leader) in partitions {
            if let Some(slot) = usize::try_from(number).ok().and_then(|at| leaders.get_mut(at)) {
                *slot = leader;
            }
        }
        let leading: HashSet<i32> = leaders.iter().copied().collect();
        let places = brokers.into_iter().filter(|(number, ..)| leading.contains(number));
        let places = places.filter_map(|(number, host, port)| {
            let port = u16::try_from(port).ok()?;
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            Some((number, HostPort::read(&host, port).ok()?))
        });
        let places = Arc::new(places.collect());
        Ok(Self { leaders: leaders.into(), places, asked })
    }

    pub(super) fn is_believed(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.asked) < BELIEVED
    }

    /// The number of partitions.
    pub(super) fn partitions(&self) -> i32 {
        i32::try_from(self.leaders.len()).unwrap_or(i32::MAX)
    }

    /// The address of a partition's leader.
    pub(super) fn leader(&self, partition: i32) -> Result<&HostPort, PublishProblem> {
        let leader = usize::try_from(partition).ok().and_then(|at| self.leaders.get(at));
        let leader =
            leader.ok_or_else(|| PublishProblem::refused("the topic has lost that partition"))?;
        let place = self.places.get(leader);
        place.ok_or_else(|| PublishProblem::broken("the partition has no leader"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        crate::clock::Clock::system().instant()
    }

    fn told(partitions: Vec<(i32, i32)>) -> Metadata {
        let brokers = vec![(1, "one.test".to_owned(), 9092), (2, "::1".to_owned(), 9093)];
        Metadata { brokers, error: codes::NONE, partitions }
    }

    #[test]
    fn partitions_have_the_leaders_that_the_cluster_names() {
        let topic = Topic::read("a", told(vec![(2, 2), (0, 1), (1, -1)]), now()).ok().unwrap();
        assert_eq!(topic.partitions(), 3);
        let leader = |partition| topic.leader(partition).map(HostPort::to_string);
        assert_eq!(leader(0), Ok("one.test:9092".to_owned()));
        assert_eq!(leader(1), Err(PublishProblem::broken("the partition has no leader")));
        assert_eq!(leader(2), Ok("[::1]:9093".to_owned()));
        for lost in [3, -1, i32::MAX] {
            assert!(leader(lost).is_err(), "{lost}");
        }
    }

    #[test]
    fn numbers_of_partitions_that_cannot_be_are_refused() {
        for number in [i32::MAX, i32::MIN, -1, MAX_PARTITIONS] {
            assert!(Topic::read("a", told(vec![(number, 1)]), now()).is_err(), "{number}");
        }
        assert!(Topic::read("a", told(vec![]), now()).is_err());
    }

    #[test]
    fn topics_are_dropped_when_they_have_too_many_partitions() {
        let topics = Topics::default();
        let topic = |count: i32| Topic::read("a", told(vec![(count - 1, 1)]), now()).ok().unwrap();
        let (large, small) = (topic(MAX_PARTITIONS), topic(1));
        let is_cached = || topics.slot("small", now()).try_lock().unwrap().is_some();
        *topics.slot("small", now()).try_lock().unwrap() = Some(small.clone());
        for _ in 0..2 {
            topics.found(&large);
            assert!(is_cached());
        }
        topics.found(&small);
        assert!(!is_cached(), "there are too many");
        *topics.slot("small", now()).try_lock().unwrap() = Some(small);
        topics.forget("small", now());
        assert!(!is_cached());
    }
}
