use anyhow::{Context, Result};
use carillon::clock::Clock;
use serde_json::{Value, json};

use super::daemon::{Daemon, output, runs, tool};

const TOPIC: &str = "orders";

/// Counts the events in a topic by fetching to its end, because Tansu 0.6 returns a wrong latest
/// offset: the one after the first record of the last batch.
const COUNT: &str = r#"
import sys
from confluent_kafka import Consumer, KafkaError, TopicPartition
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "reader",
    "enable.auto.commit": False, "enable.partition.eof": True})
count = 0
for partition in range(3):
    consumer.assign([TopicPartition(sys.argv[2], partition, 0)])
    while True:
        message = consumer.poll(20)
        assert message is not None
        if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
            break
        assert message.error() is None, message.error()
        count += 1
consumer.close()
print(count)
"#;

pub(super) async fn is_installed() -> bool {
    runs("tansu", &["--version"]).await && runs("python3", &["-c", "import confluent_kafka"]).await
}

/// Starts a broker that keeps its data in memory, with a topic of three partitions.
pub(super) async fn start(clock: &Clock) -> Result<(Daemon, Value)> {
    let daemon = Daemon::start(clock, 1, |_, ports| {
        let place = format!("tcp://127.0.0.1:{}", ports[0]);
        let mut command = std::process::Command::new(tool("tansu"));
        command.args(["broker", "--storage-engine", "memory://tansu/"]);
        command.args(["--listener-url", &place, "--advertised-listener-url", &place]);
        Ok(command)
    });
    let mut daemon = daemon.await?;
    daemon
        .until(clock, async |daemon| {
            let broker = format!("tcp://{}", daemon.server());
            let words = ["topic", "create", "--broker", &broker, "--partitions", "3", TOPIC];
            Ok(runs("tansu", &words).await)
        })
        .await?;
    let connection = json!({ "servers": [daemon.server()] });
    let to = json!({ "kafka": { "connection": connection, "topic": TOPIC } });
    Ok((daemon, to))
}

pub(super) async fn count(daemon: &Daemon) -> Result<u64> {
    let counted = output("python3", &["-c", COUNT, &daemon.server(), TOPIC]).await?;
    counted.trim().parse().context("the count of the topic")
}
