//! A broker that answers that it already has a batch (`DUPLICATE_SEQUENCE_NUMBER`). Real brokers
//! answer so only for a batch older than the last five, so this test uses a scripted one.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    super::support::{executor, failed, open, succeeded, target},
    faults::attempt,
};

pub(super) const TAKEN: i16 = 0;
const NOT_CONFIRMED_IN_TIME: i16 = 7;
const DUPLICATE: i16 = 46;

pub(super) const PRODUCE: i16 = 0;
pub(super) const METADATA: i16 = 3;
pub(super) const INIT_PRODUCER_ID: i16 = 22;

/// The position of the batch in a request to `orders`: after the length of the request, the head
/// with the client's name, and the fields for the request, the topic and the partition.
pub(super) const BATCH: usize =
    (2 + 2 + 4 + 2 + "carillon".len()) + (2 + 2 + 4) + (4 + 2 + 6) + (4 + 4 + 4);

/// The answer to a batch.
#[derive(Clone, Copy)]
enum Answer {
    Code(i16),
    /// The connection is closed without an answer.
    Lost,
}

/// The producer and the sequence number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batch {
    producer: i64,
    sequence: i32,
    records: i32,
}

/// The scripted answers to the first batches (all later ones are accepted), and the batches
/// received.
#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Answer>>,
    batches: Mutex<Vec<Batch>>,
    producers: Mutex<i64>,
}

impl Script {
    /// Begins to listen; returns the address.
    async fn start(answers: &[Answer]) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let script = Arc::new(Self::default());
        script.answers.lock().unwrap().extend(answers);
        let acting = script.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let script = acting.clone();
                tokio::spawn(async move { script.serve(stream, place.port()).await });
            }
        });
        (script, place.to_string())
    }

    async fn serve(&self, mut stream: TcpStream, port: u16) -> Option<()> {
        loop {
            let asked = read(&mut stream).await?;
            let answer = match number(&asked, 0, i16::from_be_bytes) {
                METADATA => metadata(&[port], 0, TAKEN),
                INIT_PRODUCER_ID => self.producer(),
                PRODUCE => self.take(&asked[BATCH..])?,
                other => panic!("a request of kind {other}"),
            };
            write(&mut stream, &asked, &answer).await?;
        }
    }

    /// A new id for each producer.
    fn producer(&self) -> Vec<u8> {
        let mut producers = self.producers.lock().unwrap();
        *producers += 1;
        producer(*producers)
    }

    /// Records a batch; returns `None` if the answer is to be lost.
    fn take(&self, batch: &[u8]) -> Option<Vec<u8>> {
        self.batches.lock().unwrap().push(Batch {
            producer: number(batch, 43, i64::from_be_bytes),
            sequence: number(batch, 53, i32::from_be_bytes),
            records: number(batch, 57, i32::from_be_bytes),
        });
        let answer = self.answers.lock().unwrap().pop_front();
        let code = match answer.unwrap_or(Answer::Code(TAKEN)) {
            Answer::Code(code) => code,
            Answer::Lost => return None,
        };
        Some(produced(code))
    }

    fn batches(&self) -> Vec<Batch> {
        self.batches.lock().unwrap().clone()
    }
}

/// Reads one request, without its length.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let length = stream.read_u32().await.ok()?;
    let mut asked = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut asked).await.ok()?;
    Some(asked)
}

/// Answers a request; the answer repeats the request's number.
pub(super) async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    asked: &[u8],
    answer: &[u8],
) -> Option<()> {
    let whole = [&asked[4..8], answer].concat();
    stream.write_u32(u32::try_from(whole.len()).unwrap()).await.ok()?;
    stream.write_all(&whole).await.ok()
}

/// The answer to a client that asks for a producer id.
pub(super) fn producer(id: i64) -> Vec<u8> {
    // No tags, no delay, no error, the producer id, its epoch, no tags.
    [&[0][..], &[0; 4], &[0; 2], &id.to_be_bytes(), &[0; 2], &[0]].concat()
}

/// The answer to a batch.
pub(super) fn produced(code: i16) -> Vec<u8> {
    // A broker returns no offset for a batch that it did not accept now.
    let offset: i64 = if code == TAKEN { 70 } else { -1 };
    let mut told = [&1_u32.to_be_bytes()[..], &text("orders"), &1_u32.to_be_bytes()].concat();
    told.extend([&[0; 4][..], &code.to_be_bytes(), &offset.to_be_bytes()].concat());
    told.extend([&(-1_i64).to_be_bytes()[..], &[0; 4]].concat());
    told
}

pub(super) fn number<T, const N: usize>(bytes: &[u8], at: usize, read: fn([u8; N]) -> T) -> T {
    read(bytes[at..at + N].try_into().unwrap())
}

pub(super) fn text(text: &str) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat()
}

/// Metadata about brokers at these ports, numbered from 0. `leader` leads the only partition of
/// `orders`; `error` is the error code of the topic.
pub(super) fn metadata(ports: &[u16], leader: u32, error: i16) -> Vec<u8> {
    metadata_at("127.0.0.1", ports, leader, error)
}

/// The same about brokers at another host.
pub(super) fn metadata_at(host: &str, ports: &[u16], leader: u32, error: i16) -> Vec<u8> {
    let (none, one) = (&[0; 4][..], 1_u32.to_be_bytes());
    let count = u32::try_from(ports.len()).unwrap().to_be_bytes();
    let brokers: Vec<u8> = (0_u32..)
        .zip(ports)
        .flat_map(|(number, port)| {
            let port = u32::from(*port).to_be_bytes();
            [&number.to_be_bytes()[..], &text(host), &port, &text("")].concat()
        })
        .collect();
    let partition = [&[0; 2][..], none, &leader.to_be_bytes(), none, none].concat();
    let topic = [&error.to_be_bytes()[..], &text("orders"), &[0], &one, &partition].concat();
    [none, &count, &brokers, &text("cluster"), none, &one, &topic].concat()
}

fn definition(server: &str) -> Value {
    json!({ "publish": { "to": { "kafka": {
        "connection": { "servers": [server] }, "topic": "orders",
    } } } })
}

const LIMIT: Duration = Duration::from_secs(20);

async fn is_known_by_its_number(first: Answer) {
    let (script, place) = Script::start(&[first, Answer::Code(DUPLICATE)]).await;
    let (executor, target) = (executor(open()), target(definition(&place)));
    let output = succeeded(attempt(&executor, &target, "a-1", 1, LIMIT).await);
    assert_eq!((&output["partition"], &output["offset"]), (&json!(0), &Value::Null));
    let output = succeeded(attempt(&executor, &target, "a-2", 1, LIMIT).await);
    assert_eq!(output["offset"], 70);
    let batch = |sequence| Batch { producer: 1, sequence, records: 1 };
    assert_eq!(script.batches(), [batch(0), batch(0), batch(1)]);
}

#[tokio::test]
async fn a_batch_whose_acknowledgement_was_lost_is_known_by_its_number() {
    is_known_by_its_number(Answer::Lost).await;
}

#[tokio::test]
async fn a_batch_that_was_not_confirmed_in_time_is_known_by_its_number() {
    is_known_by_its_number(Answer::Code(NOT_CONFIRMED_IN_TIME)).await;
}

#[tokio::test]
async fn all_events_of_a_batch_that_is_known_are_acknowledged() {
    // The first event may be sent alone, while the others arrive, so there are two answers for each
    // batch.
    let known = [Answer::Code(NOT_CONFIRMED_IN_TIME), Answer::Code(DUPLICATE)];
    let (script, place) = Script::start(&[known, known].concat()).await;
    let (executor, target) = (executor(open()), target(definition(&place)));
    let ids: Vec<String> = (0..20).map(|number| format!("a-{number}")).collect();
    let all = ids.iter().map(|id| attempt(&executor, &target, id, 1, LIMIT));
    join_all(all).await.into_iter().for_each(|outcome| drop(succeeded(outcome)));
    let mut batches = script.batches();
    batches.dedup();
    assert_eq!(batches.iter().map(|batch| batch.records).sum::<i32>(), 20);
    let mut sequence = 0;
    for batch in batches {
        assert_eq!((batch.producer, batch.sequence), (1, sequence));
        sequence += batch.records;
    }
}

#[tokio::test]
async fn a_batch_that_was_never_sent_is_no_duplicate() {
    let (script, place) = Script::start(&[Answer::Code(DUPLICATE)]).await;
    let (executor, target) = (executor(open()), target(definition(&place)));
    let (message, _) = failed(attempt(&executor, &target, "a-1", 1, LIMIT).await);
    assert_eq!(message, "the broker mistakes the event for another one (error 46)");
    // The next event is sent with a new producer id.
    let output = succeeded(attempt(&executor, &target, "a-1", 2, LIMIT).await);
    assert_eq!(output["offset"], 70);
    let batch = |producer| Batch { producer, sequence: 0, records: 1 };
    assert_eq!(script.batches(), [batch(1), batch(2)]);
}
