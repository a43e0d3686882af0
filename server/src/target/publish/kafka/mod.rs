//! Kafka: an idempotent producer.
//!
//! This client contains only the parts of the protocol that a producer needs, in versions that
//! every broker from 2.5 to 4.x supports (docs/decisions/0080). Each partition has its own writer,
//! which sends one batch after the other, each with the producer's id and a sequence number. If the
//! acknowledgement of a batch is lost, the batch is sent again, and the broker recognises it.
//!
//! - `wire`: encoding of requests and answers
//! - `requests`: the requests
//! - `batch`: encoding of records
//! - `partition`: the partition of a key
//! - `scram`, `sasl`: signing in
//! - `link`: a connection to one broker
//! - `cluster`: the brokers; `topics`: the leaders of partitions, and how they are looked up
//! - `writer`: the writer of a partition
//! - `codes`: the meaning of error codes

mod batch;
mod cluster;
mod codes;
mod link;
mod partition;
mod requests;
mod sasl;
mod scram;
mod topics;
mod wire;
mod writer;

use std::sync::{Arc, atomic::AtomicU32, atomic::Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use self::{
    batch::Record,
    cluster::KafkaCluster,
    writer::{KafkaJob, Writers},
};
use super::{
    definition::{Broker, Kafka},
    dial::Dialer,
    event::Message,
    place::HostPort,
    pool::BrokerSession,
    problem::PublishProblem,
};
use crate::target::egress::namespace;

/// Connects to a broker, which reports the others.
pub(super) async fn connect(
    dialer: &Arc<Dialer>,
    place: &HostPort,
    kafka: &Kafka,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    let cluster = KafkaCluster::connect(dialer.clone(), place, kafka).await?;
    Ok(Arc::new(KafkaSession {
        cluster: Arc::new(cluster),
        writers: Writers::default(),
        next: AtomicU32::new(0),
    }))
}

struct KafkaSession {
    cluster: Arc<KafkaCluster>,
    writers: Writers,
    /// The number of the next event without a key, for choosing its partition.
    next: AtomicU32,
}

#[async_trait]
impl BrokerSession for KafkaSession {
    async fn publish(&self, to: &Broker, message: &Message) -> Result<Value, PublishProblem> {
        let Broker::Kafka(kafka) = to else {
            return Err(PublishProblem::refused("the connection is one to Kafka"));
        };
        let partitions = self.cluster.partitions(&kafka.topic).await?;
        let partition = self.choose(kafka, partitions)?;
        let (reply, answer) = oneshot::channel();
        let record = Record {
            key: kafka.key.as_ref().map(|key| key.clone().into_bytes()),
            value: message.body.clone(),
            headers: headers(message),
            at: self.cluster.dialer().clock.now().timestamp_millis(),
        };
        let job = KafkaJob { record, reply, namespace: namespace(), writer: None };
        self.writers.give(&self.cluster, &kafka.topic, partition, job).await?;
        let offset = answer.await.unwrap_or_else(|_| Err(PublishProblem::unsent()))?;
        // For a batch that it already had, the broker does not always report the offset.
        let offset = (offset >= 0).then_some(offset);
        Ok(json!({ "topic": kafka.topic, "partition": partition, "offset": offset }))
    }

    fn is_open(&self) -> bool {
        self.cluster.is_open()
    }

    fn heard(&self) -> u64 {
        self.cluster.heard()
    }
}

impl KafkaSession {
    fn choose(&self, kafka: &Kafka, partitions: i32) -> Result<i32, PublishProblem> {
        if let Some(partition) = &kafka.partition {
            let number = partition.parse().ok().filter(|number| (0..partitions).contains(number));
            return number.ok_or_else(|| {
                let topic = &kafka.topic;
                let text = format!(
                    "there is no partition {partition} in the topic {topic}, which has {partitions}"
                );
                PublishProblem::refused(text)
            });
        }
        Ok(match &kafka.key {
            Some(key) => partition::of_key(key.as_bytes(), partitions),
            None => partition::in_turn(self.next.fetch_add(1, Ordering::Relaxed), partitions),
        })
    }
}

fn headers(message: &Message) -> Vec<(String, Vec<u8>)> {
    let attributes =
        message.attributes.iter().map(|(name, value)| (format!("ce_{name}"), value.clone()));
    let content_type = ("content-type".to_owned(), message.content_type.to_owned());
    let own = message.headers.iter().cloned();
    let all = attributes.chain([content_type]).chain(own);
    all.map(|(name, value)| (name, value.into_bytes())).collect()
}
