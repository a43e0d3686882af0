//! The writer of a partition. It sends all waiting records as one batch, and then those that have
//! arrived in the meantime.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::{
    batch::{Producer, Record, batch},
    cluster::KafkaCluster,
    codes,
    requests::produce,
};
use crate::target::{egress::for_namespace, publish::problem::PublishProblem};

/// A record to write.
pub(super) struct KafkaJob {
    pub(super) record: Record,
    /// The channel for its offset.
    pub(super) reply: Reply,
    /// The namespace of its attempt.
    pub(super) namespace: Option<Uuid>,
    /// The queue that it is in: while a record waits or is written, its writer is kept.
    pub(super) writer: Option<mpsc::Sender<KafkaJob>>,
}

type Reply = oneshot::Sender<Result<i64, PublishProblem>>;

/// Maximum number of records in a batch, and its maximum size in bytes. A single record may be
/// larger.
const MAX_RECORDS: usize = 1_000;
const MAX_BYTES: usize = 512 * 1024;
const QUEUE: usize = 4_096;
/// How long a batch is sent again if its acknowledgement is lost.
const AGAIN: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Beyond this number of writers, those without work end. Each has a task and a queue, and a key
/// decides about the topic and the partition.
const MAX_WRITERS: usize = 4_096;

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
        let writer = self.writer(topic, partition, |received| {
            let (cluster, topic) = (cluster.clone(), topic.to_owned());
            tokio::spawn(Writer { cluster, topic, partition, producer: None }.run(received));
        });
        let job = KafkaJob { writer: Some(writer.clone()), ..job };
        writer.send(job).await.map_err(|_| PublishProblem::unsent())
    }

    /// The queue of a partition's writer; `begin` starts the writer if there is none.
    fn writer(
        &self,
        topic: &str,
        partition: i32,
        begin: impl FnOnce(mpsc::Receiver<KafkaJob>),
    ) -> mpsc::Sender<KafkaJob> {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (topic.to_owned(), partition);
        if let Some(known) = writers.get(&place) {
            return known.clone();
        }
        if writers.len() >= MAX_WRITERS {
            // A writer ends once its queue is dropped. Each record that waits or is written has a
            // handle, and so has each caller that is about to give one.
            writers.retain(|_, jobs| jobs.strong_count() > 1);
        }
        let (jobs, received) = mpsc::channel(QUEUE);
        begin(received);
        writers.insert(place, jobs.clone());
        jobs
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
            if jobs.is_empty() {
                // Gives attempts that begin at the same moment the chance to share a batch.
                tokio::task::yield_now().await;
            }
            let mut size = first.record.size();
            let mut together = vec![first];
            while together.len() < MAX_RECORDS
                && let Ok(job) = jobs.try_recv()
            {
                size += job.record.size();
                if size > MAX_BYTES {
                    left_over = Some(job);
                    break;
                }
                together.push(job);
            }
            // Until these are written, no other writer is started for the partition.
            let _at_work = together.first().and_then(|job| job.writer.clone());
            // The records of callers that are gone are not sent.
            together.retain(|job| !job.reply.is_closed());
            // What is looked up for a batch counts for the namespace of its first record.
            match together.first().and_then(|job| job.namespace) {
                Some(namespace) => for_namespace(namespace, self.write(together)).await,
                None => self.write(together).await,
            }
        }
    }

    async fn write(&mut self, jobs: Vec<KafkaJob>) {
        if jobs.is_empty() {
            return;
        }
        let jobs = jobs.into_iter().map(|job| (job.record, job.reply));
        let (records, replies): (Vec<Record>, Vec<_>) = jobs.unzip();
        match self.hand_over(&records, &replies).await {
            Err(RefusedBatch::ForRecord(_)) if records.len() > 1 => {
                // Any of the records may be the one that is refused, so each is sent alone.
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
        replies: &[Reply],
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
                // The broker has checked the records before their number, which is thus still free.
                Ok((code, _)) if codes::is_for_record(code) => {
                    let problem = PublishProblem::refused(codes::text(code));
                    return Err(RefusedBatch::ForRecord(problem));
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
        let answer = self.cluster.producer_id().await.map_err(RefusedBatch::For)?;
        if answer.code != codes::NONE {
            return Err(RefusedBatch::For(PublishProblem::refused(codes::text(answer.code))));
        }
        let made = Producer { id: answer.id, epoch: answer.epoch, sequence: 0 };
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
    /// The broker refuses one of the records, and may accept the others.
    ForRecord(PublishProblem),
    For(PublishProblem),
}

fn answer(replies: impl IntoIterator<Item = Reply>, written: Result<i64, RefusedBatch>) {
    let written =
        written.map_err(|(RefusedBatch::ForRecord(problem) | RefusedBatch::For(problem))| problem);
    for (reply, distance) in replies.into_iter().zip(0..) {
        // The offset of a batch that the broker already had is unknown.
        let offset = written
            .clone()
            .map(|first| if first < 0 { first } else { first.saturating_add(distance) });
        let _ = reply.send(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_without_work_make_room_for_others() {
        let (writers, mut queues) = (Writers::default(), Vec::new());
        let busy = writers.writer("busy", 0, |received| queues.push(received));
        let record = Record { key: None, value: Vec::new(), headers: Vec::new(), at: 0 };
        let (reply, _answer) = oneshot::channel();
        let writer = Some(busy.clone());
        assert!(busy.try_send(KafkaJob { record, reply, namespace: None, writer }).is_ok());
        for (partition, _) in (0..).zip(0..MAX_WRITERS) {
            drop(writers.writer("idle", partition, |received| queues.push(received)));
        }
        assert_eq!(writers.0.lock().unwrap().len(), 2, "the busy one and the last one");
        let same = writers.writer("busy", 0, |_| panic!("it has a writer"));
        assert!(same.same_channel(&busy));
    }
}
