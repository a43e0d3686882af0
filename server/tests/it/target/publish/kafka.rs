use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use carillon::target::AttemptOutcome;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{Broker, tool};

use super::{
    super::support::{executor, open, succeeded, target},
    faults::{attempt, is_found_again, is_waited_for_within_the_timeout, published, refused},
};

/// A broker that keeps its data in memory, with the topic `orders` of three partitions. It tells
/// clients to connect to `advertised`, or to itself.
pub(super) async fn server(advertised: Option<u16>) -> Broker {
    Broker::start(
        1,
        move |_, ports| {
            let at = |port| format!("tcp://127.0.0.1:{port}");
            let mut command = Command::new(tool("tansu"));
            command.args(["broker", "--storage-engine", "memory://tansu/"]);
            command.args(["--listener-url", &at(ports[0])]);
            command.args(["--advertised-listener-url", &at(advertised.unwrap_or(ports[0]))]);
            command
        },
        |_, ports| {
            let broker = format!("tcp://127.0.0.1:{}", ports[0]);
            let mut command = Command::new(tool("tansu"));
            command.args(["topic", "create", "--broker", &broker, "--partitions", "3", "orders"]);
            command.output().is_ok_and(|output| output.status.success())
        },
    )
    .await
}

/// A script with a third-party client. It reads a topic from beginning to end, and computes the
/// partition for a key. It finds the end by fetching: for the latest offset (ListOffsets), Tansu
/// 0.6 returns the offset after the first record of the last batch, where Kafka returns the one
/// after the last record.
const READ: &str = r#"
import json, sys
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
servers = {"bootstrap.servers": sys.argv[1]}
consumer = Consumer({**servers, "group.id": "reader", "enable.auto.commit": False,
    "enable.partition.eof": True})
for partition in range(3):
    consumer.assign([TopicPartition("orders", partition, 0)])
    while True:
        message = consumer.poll(20)
        assert message is not None
        if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
            break
        assert message.error() is None, message.error()
        print(json.dumps({
            "partition": partition, "offset": message.offset(),
            "key": message.key() and message.key().decode(),
            "headers": {name: value.decode() for name, value in message.headers() or []},
            "body": json.loads(message.value()),
        }))
consumer.close()
if len(sys.argv) > 2:
    producer = Producer({**servers, "partitioner": "murmur2_random"})
    for key in sys.argv[2:]:
        producer.produce("orders", b"{}", key.encode(), on_delivery=lambda error, message: print(
            json.dumps({"key": message.key().decode(), "would": message.partition()})))
    producer.flush(20)
"#;

pub(super) fn read(server: &str, keys: &[&str]) -> Vec<Value> {
    let mut command = Command::new(tool("python3"));
    let output = command.args(["-c", READ, server]).args(keys).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn definition(server: &str, more: &Value, event: Value) -> Value {
    let mut kafka = json!({ "connection": { "servers": [server] }, "topic": "orders" });
    for (name, value) in more.as_object().unwrap() {
        kafka[name] = value.clone();
    }
    json!({ "publish": { "to": { "kafka": kafka }, "event": event } })
}

#[tokio::test]
async fn events_are_in_the_partitions_chosen_by_key_number_or_turn() {
    let kafka = server(None).await;
    let place = kafka.server();
    let event = json!({ "headers": { "x-team": "blue" } });
    let by_number = published(definition(&place, &json!({ "partition": 2 }), event)).await;
    assert_eq!((&by_number["topic"], &by_number["partition"]), (&json!("orders"), &json!(2)));
    let binary = json!({ "mode": "binary" });
    let keys = ["a", "customer-42", "grüße"];
    let mut by_key = Vec::new();
    for key in keys {
        by_key.push(published(definition(&place, &json!({ "key": key }), binary.clone())).await);
    }
    let (turns, to) = (executor(open()), target(definition(&place, &json!({}), json!({}))));
    for partition in 0..3 {
        let output = attempt(&turns, &to, "in-turn", 1, Duration::from_secs(20)).await;
        assert_eq!(succeeded(output)["partition"], partition);
    }
    let stored = read(&place, &keys);
    let (stored, would): (Vec<_>, Vec<_>) =
        stored.into_iter().partition(|message| message["would"].is_null());
    assert_eq!(stored.len(), 1 + keys.len() + 3);
    for (key, output) in keys.into_iter().zip(&by_key) {
        let message = stored.iter().find(|message| message["key"] == key).unwrap();
        assert_eq!(message["partition"], output["partition"]);
        assert_eq!(message["offset"], output["offset"]);
        assert_eq!(message["headers"]["ce_id"], "nightly-1700000000");
        assert_eq!(message["body"]["payload"], json!({ "customer": 42 }));
        let would = would.iter().find(|message| message["key"] == key).unwrap();
        assert_eq!(would["would"], output["partition"], "{key}");
    }
    let numbered = stored.iter().find(|message| message["headers"]["x-team"] == "blue").unwrap();
    assert_eq!(numbered["headers"]["content-type"], "application/cloudevents+json");
    assert_eq!(numbered["body"]["id"], "nightly-1700000000");
    assert_eq!(numbered["offset"], by_number["offset"]);
}

#[tokio::test]
async fn a_topic_or_partition_that_is_not_there_is_the_attempts_error() {
    let kafka = server(None).await;
    let place = kafka.server();
    let message = refused(definition(&place, &json!({ "topic": "other" }), json!({}))).await;
    assert_eq!(message, "there is no topic other");
    let message = refused(definition(&place, &json!({ "partition": 3 }), json!({}))).await;
    assert_eq!(message, "there is no partition 3 in the topic orders, which has 3");
    // Which partition a template means is only known when it is filled in.
    let template = json!({ "partition": "{{ context.partition }}" });
    executor(open()).check(&target(definition(&place, &template, json!({})))).unwrap();
}

/// A proxy that forwards requests to a broker one by one. For `cuts` produce requests, it cuts the
/// connection instead of forwarding the answer.
async fn cutting(listener: TcpListener, broker: String, cuts: Arc<AtomicUsize>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (broker, cuts) = (broker.clone(), cuts.clone());
        tokio::spawn(async move {
            let server = TcpStream::connect(&broker).await.ok()?;
            hand_on(client, server, &cuts).await
        });
    }
}

async fn hand_on(mut client: TcpStream, mut server: TcpStream, cuts: &AtomicUsize) -> Option<()> {
    loop {
        let asked = frame(&mut client).await?;
        server.write_all(&asked).await.ok()?;
        let answer = frame(&mut server).await?;
        let publishes = asked[4..6] == [0, 0];
        let left = |cuts: usize| cuts.checked_sub(1);
        if publishes && cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok() {
            return None;
        }
        client.write_all(&answer).await.ok()?;
    }
}

async fn frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut frame = vec![0; 4];
    stream.read_exact(&mut frame).await.ok()?;
    let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
    frame.resize(4 + usize::try_from(length).unwrap(), 0);
    stream.read_exact(&mut frame[4..]).await.ok()?;
    Some(frame)
}

// The proxy must run while the topic is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_acknowledgement_neither_loses_nor_doubles_an_event() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let kafka = server(Some(place.port())).await;
    let cuts = Arc::new(AtomicUsize::new(0));
    tokio::spawn(cutting(listener, kafka.server(), cuts.clone()));
    let executor = executor(open());
    let to = target(definition(&place.to_string(), &json!({ "key": "a" }), json!({})));
    for round in 0..5 {
        cuts.store(1, Ordering::SeqCst);
        let ids: Vec<String> = (0..20).map(|number| format!("event-{round}-{number}")).collect();
        let all = ids.iter().map(|id| attempt(&executor, &to, id, 1, Duration::from_secs(20)));
        for outcome in join_all(all).await {
            assert!(matches!(outcome, AttemptOutcome::Succeeded { .. }), "{outcome:?}");
        }
        assert_eq!(cuts.load(Ordering::SeqCst), 0, "no acknowledgement was lost");
    }
    let mut stored: Vec<String> = read(&place.to_string(), &[])
        .iter()
        .map(|message| message["body"]["id"].as_str().unwrap().to_owned())
        .collect();
    let count = stored.len();
    stored.sort();
    stored.dedup();
    assert_eq!((stored.len(), count), (100, 100));
}

#[tokio::test]
async fn a_broker_that_is_away_is_found_again() {
    let mut kafka = server(None).await;
    let definition = definition(&kafka.server(), &json!({}), json!({}));
    is_found_again(&mut kafka, definition).await;
}

#[tokio::test]
async fn a_broker_that_hangs_is_waited_for_within_the_timeout() {
    let kafka = server(None).await;
    let definition = definition(&kafka.server(), &json!({}), json!({}));
    is_waited_for_within_the_timeout(&kafka, definition).await;
}
