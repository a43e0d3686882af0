//! A cluster in which another broker becomes the leader, and brokers that refuse topics and events.
//! Tansu is a single broker and refuses no one, so these tests use scripted brokers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::{
    super::support::{executor, failed, open, succeeded, target},
    faults::{attempt, refused},
    kafka_duplicates::{
        BATCH, INIT_PRODUCER_ID, METADATA, PRODUCE, TAKEN, metadata, metadata_at, number, produced,
        producer, read, write,
    },
};

const NOT_LEADER: i16 = 6;
const TOO_LARGE: i16 = 10;
/// Such as an event without a key, in a topic that is compacted.
const INVALID_RECORD: i16 = 87;
const NOT_AUTHORISED: i16 = 29;

const LIMIT: Duration = Duration::from_secs(20);

/// The brokers of one cluster.
struct Cluster {
    ports: Vec<u16>,
    /// The number of the broker that leads the partition.
    leader: AtomicU32,
    /// The number of the broker that closes every connection at the first request.
    dead: AtomicU32,
    /// The error code of the topic in the metadata.
    topic: i16,
    /// The leader's answer to a batch, from its size in bytes and its number of records.
    judge: fn(usize, i32) -> i16,
    /// The batches received: the broker, the number of records, and the answer.
    batches: Mutex<Vec<(u32, i32, i16)>>,
}

/// A number that no broker has.
const NOBODY: u32 = u32::MAX;

impl Cluster {
    /// Begins to listen; returns the address of the first broker.
    async fn start(
        brokers: usize,
        topic: i16,
        judge: fn(usize, i32) -> i16,
    ) -> (Arc<Self>, String) {
        let mut listeners = Vec::new();
        for _ in 0..brokers {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let ports: Vec<u16> =
            listeners.iter().map(|one| one.local_addr().unwrap().port()).collect();
        let first = format!("127.0.0.1:{}", ports[0]);
        let (leader, dead) = (AtomicU32::new(0), AtomicU32::new(NOBODY));
        let batches = Mutex::default();
        let cluster = Arc::new(Self { ports, leader, dead, topic, judge, batches });
        for (broker, listener) in (0..).zip(listeners) {
            let cluster = cluster.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let cluster = cluster.clone();
                    tokio::spawn(async move { cluster.serve(broker, stream).await });
                }
            });
        }
        (cluster, first)
    }

    async fn serve(&self, broker: u32, mut stream: TcpStream) -> Option<()> {
        loop {
            let asked = read(&mut stream).await?;
            if self.dead.load(Ordering::SeqCst) == broker {
                return None;
            }
            let leader = self.leader.load(Ordering::SeqCst);
            let answer = match number(&asked, 0, i16::from_be_bytes) {
                METADATA => metadata(&self.ports, leader, self.topic),
                INIT_PRODUCER_ID => producer(1),
                PRODUCE => {
                    let batch = &asked[BATCH..];
                    let records = number(batch, 57, i32::from_be_bytes);
                    let code = match broker == leader {
                        true => (self.judge)(batch.len(), records),
                        false => NOT_LEADER,
                    };
                    self.batches.lock().unwrap().push((broker, records, code));
                    produced(code)
                }
                other => panic!("a request of kind {other}"),
            };
            write(&mut stream, &asked, &answer).await?;
        }
    }

    fn batches(&self) -> Vec<(u32, i32, i16)> {
        self.batches.lock().unwrap().clone()
    }
}

fn definition(server: &str, payload: &str) -> Value {
    json!({ "publish": {
        "to": { "kafka": { "connection": { "servers": [server] }, "topic": "orders" } },
        "event": { "payload": { "text": payload } },
    } })
}

#[tokio::test]
async fn a_leader_that_moves_or_dies_is_followed() {
    let (cluster, place) = Cluster::start(3, TAKEN, |_, _| TAKEN).await;
    let (executor, target) = (executor(open()), target(definition(&place, "short")));
    let publish = async |id: &str| succeeded(attempt(&executor, &target, id, 1, LIMIT).await);
    publish("a-1").await;
    cluster.leader.store(1, Ordering::SeqCst);
    publish("a-2").await;
    assert_eq!(cluster.batches(), [(0, 1, TAKEN), (0, 1, NOT_LEADER), (1, 1, TAKEN)]);
    // The former leader is dead now, and the other brokers name the new one.
    cluster.dead.store(1, Ordering::SeqCst);
    cluster.leader.store(2, Ordering::SeqCst);
    let output = publish("a-3").await;
    assert_eq!(output["offset"], 70);
    assert_eq!(cluster.batches()[3..], [(2, 1, TAKEN)]);
}

/// A cluster may announce any address, so what it announces is checked like what a user writes.
#[tokio::test]
async fn a_leader_at_an_address_that_may_not_be_reached_is_not_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(announce(stream));
        }
    });
    let message = refused(definition(&place, "short")).await;
    let start = "refused to connect to 169.254.169.254:9092: 169.254.169.254 is ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.ends_with("which is never reached"), "{message}");
}

/// Answers as a broker whose leader is the address of a cloud's metadata service.
async fn announce(mut stream: TcpStream) -> Option<()> {
    loop {
        let asked = read(&mut stream).await?;
        let answer = match number(&asked, 0, i16::from_be_bytes) {
            METADATA => metadata_at("169.254.169.254", &[9092], 0, TAKEN),
            INIT_PRODUCER_ID => producer(1),
            other => panic!("a request of kind {other}"),
        };
        write(&mut stream, &asked, &answer).await?;
    }
}

#[tokio::test]
async fn a_topic_that_may_not_be_written_is_the_attempts_error() {
    // A broker may hide the topic from clients that are not authorised, or refuse their batch.
    let (_hidden, place) = Cluster::start(1, NOT_AUTHORISED, |_, _| TAKEN).await;
    let message = refused(definition(&place, "short")).await;
    assert!(message.ends_with("(error 29)"), "{message}");
    let (cluster, place) = Cluster::start(1, TAKEN, |_, _| NOT_AUTHORISED).await;
    let message = refused(definition(&place, "short")).await;
    assert!(message.ends_with("(error 29)"), "{message}");
    assert_eq!(cluster.batches(), [(0, 1, NOT_AUTHORISED)], "it is sent once");
}

#[tokio::test]
async fn an_event_that_is_too_large_takes_none_of_its_batch_along() {
    let judge = |bytes: usize, _: i32| if bytes > LARGEST { TOO_LARGE } else { TAKEN };
    is_refused_alone(judge, TOO_LARGE).await;
}

#[tokio::test]
async fn an_event_that_the_topic_does_not_allow_takes_none_of_its_batch_along() {
    let judge = |bytes: usize, _: i32| if bytes > LARGEST { INVALID_RECORD } else { TAKEN };
    is_refused_alone(judge, INVALID_RECORD).await;
}

/// The broker of `is_refused_alone` refuses larger batches.
const LARGEST: usize = 4_000;

/// Publishes ten events, of which the broker refuses one.
async fn is_refused_alone(judge: fn(usize, i32) -> i16, with: i16) {
    let (cluster, place) = Cluster::start(1, TAKEN, judge).await;
    let executor = executor(open());
    let short = target(definition(&place, "short"));
    let long = target(definition(&place, &"x".repeat(LARGEST)));
    // The connection already exists for the following events, which wait for one writer and form a
    // batch.
    succeeded(attempt(&executor, &short, "first", 1, LIMIT).await);
    let ids: Vec<String> = (0..10).map(|number| format!("a-{number}")).collect();
    let all = ids.iter().enumerate().map(|(number, id)| {
        let target = if number == 5 { &long } else { &short };
        attempt(&executor, target, id, 1, LIMIT)
    });
    for (number, outcome) in join_all(all).await.into_iter().enumerate() {
        if number == 5 {
            let (message, _) = failed(outcome);
            assert!(message.ends_with(&format!("(error {with})")), "{message}");
        } else {
            succeeded(outcome);
        }
    }
    let batches = cluster.batches();
    let together = |(_, records, code): &(u32, i32, i16)| *records > 1 && *code == with;
    assert!(batches.iter().any(together), "{batches:?}");
    assert!(batches.contains(&(0, 1, with)), "{batches:?}");
    let taken = batches.iter().filter(|(.., code)| *code == TAKEN);
    assert_eq!(taken.map(|(_, records, _)| records).sum::<i32>(), 10);
}
