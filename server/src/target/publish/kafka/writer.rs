//! The writer of a partition. It sends all waiting records as one batch, and then those that have
//! arrived in the meantime.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};

use super::{
    batch::{Producer, Record, batch},
    cluster::KafkaCluster,
    codes,
    requests::{produce, producer_id},
};
use crate::target::publish::problem::PublishProblem;

/// A record to write, and the channel for its offset.
pub(super) type KafkaJob = (Record, oneshot::Sender<Result<i64, PublishProblem>>);

/// Maximum number of records in a batch, and its maximum size in bytes. A single record may be
/// larger.
const MAX_RECORDS: usize = 1_000;
const MAX_BYTES: usize = 512 * 1024;
const QUEUE: usize = 4_096;
/// How long a batch is sent again if its acknowledgement is lost.
const AGAIN: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The writers of a session, each started when it is first needed.
#[derive(Default)]
pub(super) struct Writers(Mutex<HashMap<(String, i32), mpsc::Sender<KafkaJob>>>);

impl Writers {
    /// Passes a record to the writer of its partition.
    pub(super) async fn give(
        &self,
        cluster: &Arc<KafkaCluster>,
        topic: &str,
        partition: i32,
        job: KafkaJob,
    ) -> Result<(), PublishProblem> {
        let writer = {
            let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let begin = || {
                let (jobs, received) = mpsc::channel(QUEUE);
                let (cluster, topic) = (cluster.clone(), topic.to_owned());
                tokio::spawn(Writer { cluster, topic, partition, producer: None }.run(received));
                jobs
            };
            writers.entry((topic.to_owned(), partition)).or_insert_with(begin).clone()
        };
        writer.send(job).await.map_err(|_| PublishProblem::unsent())
    }
}

struct Writer {
    cluster: Arc<KafkaCluster>,
    topic: String,
    partition: i32,
    producer: Option<Producer>,
}

impl Writer {
    /// Runs until no record is left to write and all senders are gone.
    async fn run(mut self, mut jobs: mpsc::Receiver<KafkaJob>) {
        let mut left_over = None;
        loop {
            let first = match left_over.take() {
                Some(job) => job,
                None => match jobs.recv().await {
                    Some(job) => job,
                    None => return,
                },
            };
            let mut size = first.0.size();
            let mut together = vec![first];
            while together.len() < MAX_RECORDS
                && let Ok(job) = jobs.try_recv()
            {
                size += job.0.size();
                if size > MAX_BYTES {
                    left_over = Some(job);
                    break;
                }
                together.push(job);
            }
            // The records of callers that are gone are not sent.
            together.retain(|(_, reply)| !reply.is_closed());
            self.write(together).await;
        }
    }

    async fn write(&mut self, jobs: Vec<KafkaJob>) {
        if jobs.is_empty() {
            return;
        }
        let (records, replies): (Vec<Record>, Vec<_>) = jobs.into_iter().unzip();
        match self.hand_over(&records, &replies).await {
            Err(RefusedBatch::TooLarge(_)) if records.len() > 1 => {
                // Any of the records may be the one that is too large, so each is sent alone.
                for (record, reply) in records.into_iter().zip(replies) {
                    let alone = ([record], [reply]);
                    let written = self.hand_over(&alone.0, &alone.1).await;
                    answer(alone.1, written);
                }
            }
            written => answer(replies, written),
        }
    }

    /// Sends a batch, and retries until the broker has accepted it or refuses it for good.
    async fn hand_over(
        &mut self,
        records: &[Record],
        replies: &[oneshot::Sender<Result<i64, PublishProblem>>],
    ) -> Result<i64, RefusedBatch> {
        let producer = self.producer().await?;
        let bytes = batch(records, producer);
        let clock = self.cluster.dialer().clock.clone();
        let began = clock.instant();
        let (mut pause, mut was_sent, mut has_looked_again) = (PAUSE, false, false);
        loop {
            let problem = match self.send(&bytes).await {
                // A batch that was not sent before cannot be a duplicate, so another producer must
                // be using this id.
                Ok((code, offset))
                    if code == codes::NONE || (code == codes::DUPLICATE && was_sent) =>
                {
                    let count = i32::try_from(records.len()).unwrap_or(i32::MAX);
                    // Sequence numbers wrap around to 0.
                    let sequence = producer.sequence.checked_add(count);
                    let sequence =
                        sequence.unwrap_or_else(|| (producer.sequence - i32::MAX) + (count - 1));
                    self.producer = Some(Producer { sequence, ..producer });
                    return Ok(offset);
                }
                Ok((codes::TOO_LARGE, _)) => {
                    return Err(RefusedBatch::TooLarge(PublishProblem::refused(codes::text(
                        codes::TOO_LARGE,
                    ))));
                }
                Ok((code, _)) if codes::passes(code) => PublishProblem::broken(codes::text(code)),
                Ok((code, _)) => {
                    self.producer = None;
                    return Err(RefusedBatch::For(PublishProblem::refused(codes::text(code))));
                }
                // The partition may have another leader since it was looked up. If that one cannot
                // be reached either, the callers can get the error now, because nothing was sent.
                Err(Unreached { problem, was_sent: false }) if !was_sent => {
                    self.cluster.forget(&self.topic);
                    if has_looked_again || replies.iter().all(oneshot::Sender::is_closed) {
                        return Err(RefusedBatch::For(problem));
                    }
                    has_looked_again = true;
                    continue;
                }
                Err(Unreached { problem, .. }) => problem,
            };
            was_sent = true;
            self.cluster.forget(&self.topic);
            let is_over = clock.instant().duration_since(began) > AGAIN;
            if is_over || replies.iter().all(oneshot::Sender::is_closed) {
                // It is unknown whether the broker has the batch. With a new producer id, the
                // broker cannot mistake the following batches for it.
                self.producer = None;
                return Err(RefusedBatch::For(problem));
            }
            clock.sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn send(&self, bytes: &[u8]) -> Result<(i16, i64), Unreached> {
        let reached = self.cluster.leader(&self.topic, self.partition).await;
        let link = reached.map_err(|problem| Unreached { problem, was_sent: false })?;
        let sent = produce(&link, &self.topic, self.partition, bytes).await;
        sent.map_err(|problem| Unreached { was_sent: !problem.is_unsent(), problem })
    }

    /// The producer id and sequence number of the next batch.
    async fn producer(&mut self) -> Result<Producer, RefusedBatch> {
        if let Some(producer) = self.producer {
            return Ok(producer);
        }
        let link = self.cluster.any().map_err(RefusedBatch::For)?;
        let made = match producer_id(&link).await.map_err(RefusedBatch::For)? {
            (codes::NONE, id, epoch) => Producer { id, epoch, sequence: 0 },
            (code, ..) => {
                return Err(RefusedBatch::For(PublishProblem::refused(codes::text(code))));
            }
        };
        self.producer = Some(made);
        Ok(made)
    }
}

/// Why a request was not sent to a broker, or was not answered.
struct Unreached {
    problem: PublishProblem,
    was_sent: bool,
}

/// Why a batch was not written.
enum RefusedBatch {
    TooLarge(PublishProblem),
    For(PublishProblem),
}

fn answer(
    replies: impl IntoIterator<Item = oneshot::Sender<Result<i64, PublishProblem>>>,
    written: Result<i64, RefusedBatch>,
) {
    let written =
        written.map_err(|(RefusedBatch::TooLarge(problem) | RefusedBatch::For(problem))| problem);
    for (reply, distance) in replies.into_iter().zip(0..) {
        // The offset of a batch that the broker already had is unknown.
        let offset = written.clone().map(|first| if first < 0 { first } else { first + distance });
        let _ = reply.send(offset);
    }
}
