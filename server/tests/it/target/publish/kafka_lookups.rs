//! How many topics are looked up at once. The scripted broker answers no look-up before the test
//! lets it.

use std::{sync::Arc, time::Duration};

use carillon::target::{AttemptOutcome, Executor, Invocation};
use futures::future::join_all;
use serde_json::json;
use tokio::{
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    super::support::{executor, invocation, open, succeeded, target},
    kafka_duplicates::{
        INIT_PRODUCER_ID, METADATA, PRODUCE, TAKEN, metadata, number, produced, producer, read,
        write,
    },
};

/// The position of the topic's name in a request for its metadata: after the head with the client's
/// name, the number of topics, and the length of the name.
const TOPIC: usize = (2 + 2 + 4 + 2 + "carillon".len()) + 4 + 2;

/// Maximum number of look-ups of one namespace.
const MAX_OF_NAMESPACE: usize = 4;

struct Broker {
    /// The topics that were asked for.
    asked: watch::Sender<Vec<String>>,
    /// Whether look-ups are answered.
    answers: watch::Sender<bool>,
}

impl Broker {
    /// Begins to listen; returns the address.
    async fn start() -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let (asked, answers) = (watch::Sender::new(vec![]), watch::Sender::new(false));
        let broker = Arc::new(Self { asked, answers });
        let serving = broker.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let broker = serving.clone();
                tokio::spawn(async move { broker.serve(stream, place.port()).await });
            }
        });
        (broker, place.to_string())
    }

    async fn serve(&self, stream: TcpStream, port: u16) {
        let (reader, writer) = stream.into_split();
        let (requests, received) = mpsc::unbounded_channel();
        tokio::join!(self.take(reader, requests), self.answer(writer, received, port));
    }

    /// Reads all requests as they come.
    async fn take(
        &self,
        mut reader: OwnedReadHalf,
        requests: mpsc::UnboundedSender<Vec<u8>>,
    ) -> Option<()> {
        loop {
            let asked = read(&mut reader).await?;
            if number(&asked, 0, i16::from_be_bytes) == METADATA {
                let length = number(&asked, TOPIC - 2, u16::from_be_bytes);
                let name = &asked[TOPIC..TOPIC + usize::from(length)];
                let name = String::from_utf8(name.to_vec()).unwrap();
                self.asked.send_modify(|all| all.push(name));
            }
            requests.send(asked).ok()?;
        }
    }

    /// Answers the requests in their order.
    async fn answer(
        &self,
        mut writer: OwnedWriteHalf,
        mut received: mpsc::UnboundedReceiver<Vec<u8>>,
        port: u16,
    ) -> Option<()> {
        let mut answers = self.answers.subscribe();
        while let Some(asked) = received.recv().await {
            let answer = match number(&asked, 0, i16::from_be_bytes) {
                METADATA => {
                    answers.wait_for(|answers| *answers).await.ok()?;
                    metadata(&[port], 0, TAKEN)
                }
                INIT_PRODUCER_ID => producer(1),
                PRODUCE => produced(TAKEN),
                other => panic!("a request of kind {other}"),
            };
            write(&mut writer, &asked, &answer).await?;
        }
        Some(())
    }

    /// Waits until the broker was asked for that many topics; returns them.
    async fn asked(&self, count: usize) -> Vec<String> {
        let mut asked = self.asked.subscribe();
        asked.wait_for(|all| all.len() >= count).await.unwrap().clone()
    }
}

/// Starts an attempt of a namespace to publish an event to the topic.
fn publish(
    executor: &Arc<Executor>,
    server: &str,
    namespace: u128,
    topic: &str,
) -> JoinHandle<AttemptOutcome> {
    let target = target(json!({ "publish": { "to": { "kafka": {
        "connection": { "servers": [server] }, "topic": topic,
    } } } }));
    let invocation = Invocation {
        namespace_id: Uuid::from_u128(namespace),
        timeout: Duration::from_secs(20),
        ..invocation()
    };
    let executor = executor.clone();
    tokio::spawn(async move {
        let (lines, _received) = mpsc::channel(100);
        executor.execute(&target, &invocation, lines, CancellationToken::new()).await
    })
}

async fn all_succeed(attempts: Vec<JoinHandle<AttemptOutcome>>) {
    for outcome in join_all(attempts).await {
        succeeded(outcome.unwrap());
    }
}

#[tokio::test]
async fn a_topic_is_looked_up_once_for_all_that_wait_for_it() {
    let (broker, place) = Broker::start().await;
    let executor = Arc::new(executor(open()));
    let attempts = (0..10).map(|_| publish(&executor, &place, 1, "orders")).collect();
    broker.asked(1).await;
    // This attempt is of another namespace, so it waits for none of the other's places.
    let other = publish(&executor, &place, 2, "other");
    assert_eq!(broker.asked(2).await, ["orders", "other"]);
    broker.answers.send_replace(true);
    all_succeed(attempts).await;
    succeeded(other.await.unwrap());
    assert_eq!(broker.asked(2).await, ["orders", "other"]);
}

#[tokio::test]
async fn a_namespace_with_many_topics_keeps_no_other_waiting() {
    let (broker, place) = Broker::start().await;
    let executor = Arc::new(executor(open()));
    let topics = (0..10).map(|number| format!("t{number}"));
    let attempts = topics.map(|topic| publish(&executor, &place, 1, &topic)).collect();
    broker.asked(MAX_OF_NAMESPACE).await;
    let other = publish(&executor, &place, 2, "other");
    let asked = broker.asked(MAX_OF_NAMESPACE + 1).await;
    assert!(asked[..MAX_OF_NAMESPACE].iter().all(|topic| topic.starts_with('t')), "{asked:?}");
    assert_eq!(asked[MAX_OF_NAMESPACE..], ["other"]);
    broker.answers.send_replace(true);
    all_succeed(attempts).await;
    succeeded(other.await.unwrap());
    assert_eq!(broker.asked(11).await.len(), 11);
}
