//! Sends the events that wait for one queue together, in as few calls as possible. An event does
//! not wait for others to arrive: if it is the only one, it is sent alone.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::Client;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    call::{Queue, SqsFailure},
    entry::{AcceptedEntry, BatchEntry, BatchReply, together},
    servers::QueueServers,
};
use crate::{
    clock::Clock,
    target::{BrokerReport, egress::spawn_for_same, publish::problem::PublishProblem},
};

const SEND: &str = "AmazonSQS.SendMessage";
const SEND_BATCH: &str = "AmazonSQS.SendMessageBatch";

/// Maximum number of entries in a call, and its maximum size in bytes, according to SQS's
/// documentation.
const MAX_ENTRIES: usize = 10;
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum number of concurrent calls to one queue.
const MAX_CALLS: usize = 32;
/// Maximum time to wait for an answer, however long the timeouts of the attempts are.
const PATIENCE: Duration = Duration::from_secs(60);

/// An event, and the channel for its acknowledgement.
pub(super) struct SqsJob {
    pub(super) entry: BatchEntry,
    pub(super) reply: Reply,
}

type Reply = oneshot::Sender<Result<Value, PublishProblem>>;

/// All waiting events, by queue and sender.
pub(super) struct Lanes {
    client: Client,
    clock: Clock,
    lanes: Mutex<HashMap<Arc<Queue>, Lane>>,
    servers: QueueServers,
}

/// The events that wait for a queue. A lane exists while any of its events is being sent.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<SqsJob>,
    /// The tasks that make calls.
    calls: usize,
    /// Those of them that have not taken any event yet.
    starting: usize,
}

impl Lanes {
    pub(super) fn new(client: Client, clock: Clock) -> Self {
        let servers = QueueServers::new(clock.clone());
        Self { client, clock, lanes: Mutex::default(), servers }
    }

    /// The state of the servers.
    pub(super) fn reports(&self) -> Vec<BrokerReport> {
        self.servers.reports()
    }

    /// The servers of the queues.
    pub(super) fn servers(&self) -> &QueueServers {
        &self.servers
    }

    /// Adds an event to those that wait for its queue.
    pub(super) fn give(self: &Arc<Self>, queue: &Arc<Queue>, job: SqsJob) {
        let mut lanes = self.lanes();
        let lane = lanes.entry(queue.clone()).or_default();
        lane.waiting.push_back(job);
        self.start_if_needed(queue, lane);
    }

    /// Starts a task, unless those that are about to take events will take all that wait.
    fn start_if_needed(self: &Arc<Self>, queue: &Arc<Queue>, lane: &mut Lane) {
        if lane.calls < MAX_CALLS && lane.waiting.len() > lane.starting * MAX_ENTRIES {
            lane.calls += 1;
            lane.starting += 1;
            // The names that it looks up count towards the limit of the event's namespace.
            spawn_for_same(self.clone().work(queue.clone()));
        }
    }

    /// Makes one call after the other until no event waits.
    async fn work(self: Arc<Self>, queue: Arc<Queue>) {
        // Gives attempts that begin at the same moment the chance to share a call.
        tokio::task::yield_now().await;
        if let Some(lane) = self.lanes().get_mut(&queue) {
            lane.starting -= 1;
        }
        while let Some(jobs) = self.next(&queue) {
            self.send(&queue, jobs).await;
        }
    }

    fn next(self: &Arc<Self>, queue: &Arc<Queue>) -> Option<Vec<SqsJob>> {
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(queue)?;
        let jobs = lane.take();
        if !jobs.is_empty() {
            // The events that are left may be too large for the calls that were counted on.
            self.start_if_needed(queue, lane);
            return Some(jobs);
        }
        lane.calls -= 1;
        if lane.calls == 0 {
            lanes.remove(queue);
        }
        None
    }

    async fn send(&self, queue: &Queue, jobs: Vec<SqsJob>) {
        let jobs = match <[SqsJob; 1]>::try_from(jobs) {
            Ok([alone]) => return self.send_alone(queue, alone).await,
            Err(jobs) => jobs,
        };
        let parts = jobs.into_iter().map(|job| (job.entry, job.reply));
        let (entries, mut replies): (Vec<BatchEntry>, Vec<Reply>) = parts.unzip();
        let body = together(&entries, &queue.url);
        let Some(called) = self.call(queue, SEND_BATCH, body, &mut replies).await else { return };
        match called {
            Ok(text) => acknowledge(queue, &text, replies),
            Err(SqsFailure::Refused(_)) => {
                // A single event may be the reason why all were refused, so each is sent alone.
                for (entry, reply) in entries.into_iter().zip(replies) {
                    self.send_alone(queue, SqsJob { entry, reply }).await;
                }
            }
            Err(SqsFailure::Failed(problem)) => {
                for reply in replies {
                    let _ = reply.send(Err(problem.clone()));
                }
            }
        }
    }

    async fn send_alone(&self, queue: &Queue, job: SqsJob) {
        let SqsJob { entry, mut reply } = job;
        let body = entry.alone(&queue.url);
        let waiting = std::slice::from_mut(&mut reply);
        let Some(called) = self.call(queue, SEND, body, waiting).await else { return };
        let _ = reply.send(called.map_err(SqsFailure::problem).and_then(|text| {
            let sent: Option<AcceptedEntry> = serde_json::from_slice(&text).ok();
            sent.map(|sent| sent.output()).ok_or_else(|| queue.unreadable())
        }));
    }

    /// Makes a call; gives up once no attempt waits for its answer. The publisher
    /// records it if that is because of their time limits.
    async fn call(
        &self,
        queue: &Queue,
        action: &str,
        body: Vec<u8>,
        replies: &mut [Reply],
    ) -> Option<Result<Vec<u8>, SqsFailure>> {
        let gone = async {
            for reply in replies {
                reply.closed().await;
            }
        };
        let calling = queue.call(&self.client, action, body, self.clock.now());
        let called = tokio::select! {
            () = gone => return None,
            called = self.clock.timeout(PATIENCE, calling) => called,
        };
        let called = called.unwrap_or_else(|_| {
            let text = format!("{} did not answer for a minute", queue.place);
            Err(SqsFailure::Failed(PublishProblem::broken(text)))
        });
        let unreached = match &called {
            Err(SqsFailure::Failed(problem)) if problem.is_broken() => Some(problem),
            Ok(_) | Err(_) => None,
        };
        self.servers.record(&queue.server(), unreached);
        Some(called)
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Arc<Queue>, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// Takes as many events as fit into one call.
    fn take(&mut self) -> Vec<SqsJob> {
        let (mut taken, mut size) = (Vec::new(), 0);
        while taken.len() < MAX_ENTRIES
            && let Some(job) = self.waiting.pop_front()
        {
            // The attempt ended while its event waited, so the event is dropped.
            if job.reply.is_closed() {
                continue;
            }
            size += job.entry.size;
            if size > MAX_BYTES && !taken.is_empty() {
                self.waiting.push_front(job);
                break;
            }
            taken.push(job);
        }
        taken
    }
}

/// Passes the queue's answer on to the attempt of each event.
fn acknowledge(queue: &Queue, text: &[u8], replies: Vec<Reply>) {
    let answer: Option<BatchReply> = serde_json::from_slice(text).ok();
    for (index, reply) in replies.into_iter().enumerate() {
        let told = answer.as_ref().and_then(|answer| answer.of(index));
        let _ = reply.send(match told {
            Some(Ok(sent)) => Ok(sent.output()),
            Some(Err(reason)) => {
                Err(PublishProblem::refused(format!("{} refused the event: {reason}", queue.place)))
            }
            None => Err(queue.unreadable()),
        });
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").finish_non_exhaustive()
    }
}
