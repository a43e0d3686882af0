//! A connection that many publishers use at once. Their requests are written together, and each
//! publisher waits for its own answer.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf},
    sync::mpsc,
};

use super::{
    dial::{IoStream, lost},
    problem::PublishProblem,
};
use crate::clock::Clock;

/// The protocol of a broker on an open connection. A single task calls it, and it must not block.
pub(super) trait Codec: Send + 'static {
    /// Maximum number of requests that are sent without an answer. The others wait for an answer,
    /// or for [`PORTION_PAUSE`].
    const PORTION: usize = usize::MAX;

    /// A request, with a channel for its answer.
    type Request: Send + 'static;

    /// Encodes a request, and remembers the channel for its answer.
    fn encode(&mut self, request: Self::Request, out: &mut Vec<u8>);

    /// Decodes the complete answers at the beginning of `input`; returns the number of decoded
    /// bytes.
    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, PublishProblem>;

    /// Called periodically, to keep a connection alive.
    fn tick(&mut self, out: &mut Vec<u8>) -> Result<(), PublishProblem>;

    /// Number of requests whose answers are outstanding.
    fn outstanding(&self) -> usize;

    /// Reports to all waiting requests that no answer will come.
    fn abandon(&mut self, problem: &PublishProblem);
}

/// How often `tick` is called.
pub(super) const TICK: Duration = Duration::from_secs(5);
/// If answers are due and nothing arrives for this many ticks, the connection is given up.
const SILENT_TICKS: u32 = 12;
/// A connection that is unused for this many ticks is closed.
const IDLE_TICKS: u32 = 60;
/// Maximum number of requests waiting to be written.
const QUEUE: usize = 4_096;
/// While this many bytes wait to be written, no further request is accepted.
const MAX_UNWRITTEN: usize = 4 * 1024 * 1024;
/// Maximum size of a single answer.
const MAX_UNREAD: usize = 8 * 1024 * 1024;
/// Minimum number of bytes for which a read has room. Without it, a read would take only as many
/// bytes as the longest answer so far, and each answer would cost a system call.
const READ: usize = 16 * 1024;
/// As long as fewer bytes wait to be written, callers that are about to send a request may join.
const WORTHWHILE: usize = 16 * 1024;
/// After this time without an answer, the next portion of requests is sent: a distant broker takes
/// longer to answer.
const PORTION_PAUSE: Duration = Duration::from_millis(50);

/// A handle that sends requests to the connection. The connection ends with the last handle.
pub(super) struct Link<R> {
    requests: mpsc::Sender<R>,
    heard: Arc<AtomicU64>,
}

impl<R: Send + 'static> Link<R> {
    /// Starts to serve an open connection.
    pub(super) fn start<C: Codec<Request = R>>(
        stream: Box<dyn IoStream>,
        codec: C,
        clock: Clock,
    ) -> Self {
        let (requests, received) = mpsc::channel(QUEUE);
        let heard = Arc::new(AtomicU64::new(0));
        let (reader, writer) = tokio::io::split(stream);
        let driver = Driver {
            reader,
            writer,
            codec,
            clock,
            heard: heard.clone(),
            input: Vec::new(),
            output: Vec::new(),
            written: 0,
            must_flush: false,
            portion: 0,
        };
        tokio::spawn(driver.run(received));
        Self { requests, heard }
    }

    /// Sends a request to the connection.
    pub(super) async fn send(&self, request: R) -> Result<(), PublishProblem> {
        self.requests.send(request).await.map_err(|_| PublishProblem::unsent())
    }

    /// Whether the connection accepts requests.
    pub(super) fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }

    /// How often anything was received. A caller that timed out compares this with an earlier
    /// value.
    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

struct Driver<C> {
    reader: ReadHalf<Box<dyn IoStream>>,
    writer: WriteHalf<Box<dyn IoStream>>,
    codec: C,
    clock: Clock,
    heard: Arc<AtomicU64>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// How many bytes of `output` have been written.
    written: usize,
    must_flush: bool,
    /// Number of unanswered requests of the portion that is being sent.
    portion: usize,
}

impl<C: Codec> Driver<C> {
    async fn run(mut self, mut requests: mpsc::Receiver<C::Request>) {
        let problem = self.work(&mut requests).await;
        // Stops accepting requests, because a closed connection cannot send them.
        requests.close();
        self.codec.abandon(&problem);
        // Requests that were not sent are dropped now: the end of the connection may take a while.
        while requests.try_recv().is_ok() {}
        let _ = self.clock.timeout(TICK, self.writer.shutdown()).await;
    }

    /// Runs until the connection breaks or is no longer needed.
    async fn work(&mut self, requests: &mut mpsc::Receiver<C::Request>) -> PublishProblem {
        let (mut silent, mut unused) = (0, 0);
        let clock = self.clock.clone();
        let mut tick = Box::pin(clock.sleep(TICK));
        let mut pause = Box::pin(clock.sleep(PORTION_PAUSE));
        let mut is_wanted = true;
        loop {
            // Without a handle, no caller waits for the answers that are outstanding. Some may never
            // come, although the broker keeps the connection alive.
            if !is_wanted && self.output.is_empty() {
                return PublishProblem::broken("the connection was closed");
            }
            let has_room = self.room() > 0;
            self.input.reserve(READ);
            tokio::select! {
                read = self.reader.read_buf(&mut self.input) => {
                    match read {
                        Ok(0) => return PublishProblem::broken("the broker closed the connection"),
                        Ok(_) => {}
                        Err(error) => return lost(&error),
                    }
                    silent = 0;
                    self.heard.fetch_add(1, Ordering::Relaxed);
                    if let Err(problem) = self.take_in() {
                        return problem;
                    }
                }
                written = write(&mut self.writer, &self.output[self.written..]),
                    if self.must_flush || !self.output.is_empty() =>
                {
                    match written {
                        Ok(0) if !self.output.is_empty() => {
                            return PublishProblem::broken("the broker closed the connection");
                        }
                        Ok(count) => self.written += count,
                        Err(error) => return lost(&error),
                    }
                    self.must_flush = !self.output.is_empty();
                    if self.written == self.output.len() {
                        self.output.clear();
                        self.written = 0;
                    }
                }
                request = requests.recv(),
                    if is_wanted && has_room && self.output.len() < MAX_UNWRITTEN =>
                {
                    unused = 0;
                    match request {
                        Some(request) => self.give(request, requests).await,
                        None => is_wanted = false,
                    }
                    pause.set(clock.sleep(PORTION_PAUSE));
                }
                () = &mut pause, if !has_room => {
                    pause.set(clock.sleep(PORTION_PAUSE));
                    self.portion = 0;
                }
                () = &mut tick => {
                    tick.set(clock.sleep(TICK));
                    unused += 1;
                    silent = if self.is_idle() { 0 } else { silent + 1 };
                    if silent > SILENT_TICKS {
                        return PublishProblem::broken("the broker did not answer for a minute");
                    }
                    if unused > IDLE_TICKS && self.is_idle() {
                        return PublishProblem::unsent();
                    }
                    if let Err(problem) = self.codec.tick(&mut self.output) {
                        return problem;
                    }
                }
            }
        }
    }

    /// Encodes all waiting requests, and those of callers that are just about to send one, so that
    /// they are sent in as few pieces as possible.
    async fn give(&mut self, first: C::Request, requests: &mut mpsc::Receiver<C::Request>) {
        let mut room = self.room();
        let mut next = Some(first);
        let enough = self.output.len() + WORTHWHILE;
        while let Some(request) = next {
            self.codec.encode(request, &mut self.output);
            self.portion += 1;
            room -= 1;
            if room == 0 || self.output.len() >= MAX_UNWRITTEN {
                return;
            }
            if requests.is_empty() && self.output.len() < enough {
                // This does not block: it lets ready tasks run.
                tokio::task::yield_now().await;
            }
            next = requests.try_recv().ok();
        }
    }

    /// How many more requests may be sent now.
    fn room(&self) -> usize {
        C::PORTION.saturating_sub(self.codec.outstanding().min(self.portion))
    }

    /// Whether no answer is outstanding.
    fn is_idle(&self) -> bool {
        self.codec.outstanding() == 0
    }

    fn take_in(&mut self) -> Result<(), PublishProblem> {
        let used = self.codec.decode(&self.input, &mut self.output)?;
        self.input.drain(..used);
        self.portion = self.portion.min(self.codec.outstanding());
        if self.input.len() > MAX_UNREAD {
            return Err(PublishProblem::broken("the broker sent an answer without end"));
        }
        Ok(())
    }
}

/// Writes some of the bytes; if none are left, flushes the writer. The future is cancel-safe.
async fn write(writer: &mut WriteHalf<Box<dyn IoStream>>, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() { writer.flush().await.map(|()| 0) } else { writer.write(bytes).await }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use chrono::DateTime;
    use futures::FutureExt;
    use tokio::{io::DuplexStream, sync::oneshot};

    use super::*;
    use crate::clock::ManualClock;

    type Reply = oneshot::Sender<Result<u8, PublishProblem>>;

    /// A protocol whose requests and answers are one byte each.
    #[derive(Default)]
    struct Bytes(VecDeque<Reply>);

    impl Codec for Bytes {
        const PORTION: usize = 3;

        type Request = (u8, Reply);

        fn encode(&mut self, (byte, reply): (u8, Reply), out: &mut Vec<u8>) {
            out.push(byte);
            self.0.push_back(reply);
        }

        fn decode(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<usize, PublishProblem> {
            for byte in input {
                let reply = self.0.pop_front().ok_or_else(|| PublishProblem::broken("unasked"))?;
                let _ = reply.send(Ok(*byte));
            }
            Ok(input.len())
        }

        fn tick(&mut self, _: &mut Vec<u8>) -> Result<(), PublishProblem> {
            Ok(())
        }

        fn outstanding(&self) -> usize {
            self.0.len()
        }

        fn abandon(&mut self, problem: &PublishProblem) {
            for reply in self.0.drain(..) {
                let _ = reply.send(Err(problem.clone()));
            }
        }
    }

    #[tokio::test]
    async fn a_connection_ends_with_its_last_handle_although_an_answer_is_outstanding() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let (stream, mut broker) = tokio::io::duplex(64);
        let link = Link::start(Box::new(stream), Bytes::default(), manual.clock());
        let (reply, answer) = oneshot::channel();
        link.send((7, reply)).await.unwrap();
        assert_eq!(received(&mut broker).await, [7]);
        // The attempt has timed out, and its session was given up.
        drop((answer, link));
        let ended = Clock::system().timeout(TICK, received(&mut broker)).await;
        assert_eq!(ended.ok(), Some(Vec::new()), "the connection stays open");
    }

    /// What the broker receives next.
    async fn received(broker: &mut DuplexStream) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        broker.read_buf(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test]
    async fn a_portion_waits_for_an_answer_or_until_none_has_come_for_a_while() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let (stream, mut broker) = tokio::io::duplex(64);
        let link = Link::start(Box::new(stream), Bytes::default(), manual.clock());
        let mut answers = Vec::new();
        for byte in 0..9 {
            let (reply, answer) = oneshot::channel();
            link.send((byte, reply)).await.unwrap();
            answers.push(answer);
        }
        assert_eq!(received(&mut broker).await, [0, 1, 2]);
        broker.write_all(&[10, 11]).await.unwrap();
        assert_eq!(received(&mut broker).await, [3, 4]);
        manual.advance(PORTION_PAUSE);
        assert_eq!(received(&mut broker).await, [5, 6, 7]);
        // Of the six that are out, three belong to the last portion.
        broker.write_all(&[12, 13, 14]).await.unwrap();
        assert_eq!((&mut answers[4]).await, Ok(Ok(14)));
        assert_eq!(received(&mut broker).now_or_never(), None);
        broker.write_all(&[15]).await.unwrap();
        assert_eq!(received(&mut broker).await, [8]);
        broker.write_all(&[16, 17, 18]).await.unwrap();
        assert_eq!((&mut answers[8]).await, Ok(Ok(18)));
    }
}
