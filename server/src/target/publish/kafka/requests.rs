//! The requests of a producer.

use super::{
    link::{KafkaRequest, ask},
    wire::{KafkaReader, KafkaWriter},
};
use crate::target::publish::{
    big_endian::{Read, Write},
    link::Link,
    problem::PublishProblem,
};

const PRODUCE: (i16, i16) = (0, 3);
const METADATA: (i16, i16) = (3, 4);
const SASL_HANDSHAKE: (i16, i16) = (17, 1);
const INIT_PRODUCER_ID: (i16, i16) = (22, 3);
const SASL_AUTHENTICATE: (i16, i16) = (36, 0);

/// How long a leader waits for the other replicas, in milliseconds.
const REPLICAS_TIMEOUT: i32 = 10_000;

/// Brokers and the leaders of a topic's partitions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// Number, host and port of each broker.
    pub(super) brokers: Vec<(i32, String, i32)>,
    /// The topic's error code.
    pub(super) error: i16,
    /// Number and leader (-1: none) of each partition.
    pub(super) partitions: Vec<(i32, i32)>,
}

/// Requests the leaders of a topic's partitions.
pub(super) async fn metadata(
    link: &Link<KafkaRequest>,
    topic: &str,
) -> Result<Metadata, PublishProblem> {
    let mut request = KafkaWriter::default();
    // The request must not create the topic, because its name may be a typing error.
    request.i32(1).string(topic).i8(0);
    let answer = ask(link, METADATA.0, METADATA.1, request).await?;
    read_metadata(&answer)
}

fn read_metadata(answer: &[u8]) -> Result<Metadata, PublishProblem> {
    let mut reader = KafkaReader::new(answer);
    reader.i32()?;
    let brokers = reader.list(|reader| {
        let broker = (reader.i32()?, reader.string()?, reader.i32()?);
        reader.string()?;
        Ok(broker)
    })?;
    reader.string()?;
    reader.i32()?;
    let mut topics = reader.list(|reader| {
        let error = reader.i16()?;
        reader.string()?;
        reader.skip(1)?;
        let partitions = reader.list(|reader| {
            reader.i16()?;
            let partition = (reader.i32()?, reader.i32()?);
            reader.list(KafkaReader::i32)?;
            reader.list(KafkaReader::i32)?;
            Ok(partition)
        })?;
        Ok((error, partitions))
    })?;
    let (error, partitions) = topics.pop().unwrap_or((super::codes::UNKNOWN_TOPIC, Vec::new()));
    Ok(Metadata { brokers, error, partitions })
}

/// Sends a batch; returns an error code and the offset of its first record.
pub(super) async fn produce(
    link: &Link<KafkaRequest>,
    topic: &str,
    partition: i32,
    batch: &[u8],
) -> Result<(i16, i64), PublishProblem> {
    let mut request = KafkaWriter::default();
    // The leader must wait until all in-sync replicas have the batch.
    request.no_string().i16(-1).i32(REPLICAS_TIMEOUT);
    request.i32(1).string(topic).i32(1).i32(partition).bytes(batch);
    let answer = ask(link, PRODUCE.0, PRODUCE.1, request).await?;
    let mut reader = KafkaReader::new(&answer);
    let topics = reader.list(|reader| {
        reader.string()?;
        reader.list(|reader| {
            reader.i32()?;
            let told = (reader.i16()?, reader.i64()?);
            reader.i64()?;
            Ok(told)
        })
    })?;
    topics.into_iter().flatten().next().ok_or_else(super::wire::broken)
}

/// The answer to a request for a producer id.
pub(super) struct ProducerIdAnswer {
    /// The error code.
    pub(super) code: i16,
    pub(super) id: i64,
    pub(super) epoch: i16,
}

/// Requests an id under which batches are numbered.
pub(super) async fn producer_id(
    link: &Link<KafkaRequest>,
) -> Result<ProducerIdAnswer, PublishProblem> {
    let mut request = KafkaWriter::default();
    // In order: no tags, no transaction and timeout, no previous id and epoch, no tags.
    request.i8(0).i8(0).i32(0).i64(-1).i16(-1).i8(0);
    let answer = ask(link, INIT_PRODUCER_ID.0, INIT_PRODUCER_ID.1, request).await?;
    let mut reader = KafkaReader::new(&answer);
    reader.skip(1)?;
    reader.i32()?;
    Ok(ProducerIdAnswer { code: reader.i16()?, id: reader.i64()?, epoch: reader.i16()? })
}

/// Sends the name of the mechanism; returns an error code and the supported mechanisms.
pub(super) async fn sasl_handshake(
    link: &Link<KafkaRequest>,
    mechanism: &str,
) -> Result<(i16, Vec<String>), PublishProblem> {
    let mut request = KafkaWriter::default();
    request.string(mechanism);
    let answer = ask(link, SASL_HANDSHAKE.0, SASL_HANDSHAKE.1, request).await?;
    let mut reader = KafkaReader::new(&answer);
    Ok((reader.i16()?, reader.list(KafkaReader::string)?))
}

/// The answer to a step of signing in.
pub(super) struct SaslAnswer {
    /// The error code, and its text.
    pub(super) code: i16,
    pub(super) text: String,
    /// The broker's part of the exchange.
    pub(super) data: Vec<u8>,
}

/// Makes one step of signing in.
pub(super) async fn sasl_authenticate(
    link: &Link<KafkaRequest>,
    said: &[u8],
) -> Result<SaslAnswer, PublishProblem> {
    let mut request = KafkaWriter::default();
    request.bytes(said);
    let answer = ask(link, SASL_AUTHENTICATE.0, SASL_AUTHENTICATE.1, request).await?;
    let mut reader = KafkaReader::new(&answer);
    Ok(SaslAnswer { code: reader.i16()?, text: reader.string()?, data: reader.bytes()?.to_vec() })
}
