//! A connection that many publish over at once: what they send is written together, and each waits
//! for the answer to its own.

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
    dial::{Stream, lost},
    problem::Problem,
};
use crate::clock::Clock;

/// What a broker's protocol does on an open connection. It is called by one task; it never waits.
pub(super) trait Codec: Send + 'static {
    /// What is sent, with a place for the answer.
    type Request: Send + 'static;

    /// Writes a request down, and keeps in mind who waits for its answer.
    fn encode(&mut self, request: Self::Request, out: &mut Vec<u8>);

    /// Reads the whole answers at the beginning of `input` and says how many bytes they have.
    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Problem>;

    /// Called now and then, for what keeps a connection alive.
    fn tick(&mut self, out: &mut Vec<u8>) -> Result<(), Problem>;

    /// Whether anybody waits for an answer.
    fn is_idle(&self) -> bool;

    /// Tells all who wait that no answer comes.
    fn abandon(&mut self, problem: &Problem);
}

/// How often a codec is asked for what keeps a connection alive.
pub(super) const TICK: Duration = Duration::from_secs(5);
/// A connection over which nothing comes for so many ticks while answers are due is given up.
const SILENT_TICKS: u32 = 12;
/// One that nobody has used for so many ticks is closed.
const IDLE_TICKS: u32 = 60;
/// Requests that wait to be written.
const QUEUE: usize = 4_096;
/// With so many bytes to write no further request is taken.
const MAX_UNWRITTEN: usize = 4 * 1024 * 1024;
/// A single answer is never longer.
const MAX_UNREAD: usize = 8 * 1024 * 1024;

/// The end of a connection that requests are given to. The connection ends with the last of them.
pub(super) struct Link<R> {
    requests: mpsc::Sender<R>,
    heard: Arc<AtomicU64>,
}

impl<R: Send + 'static> Link<R> {
    /// Begins to work on an open connection.
    pub(super) fn start<C: Codec<Request = R>>(
        stream: Box<dyn Stream>,
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
        };
        tokio::spawn(driver.run(received));
        Self { requests, heard }
    }

    /// Gives a request to the connection.
    pub(super) async fn send(&self, request: R) -> Result<(), Problem> {
        self.requests.send(request).await.map_err(|_| Problem::unsent())
    }

    /// Whether requests are taken.
    pub(super) fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }

    /// How often anything came: who has waited in vain compares.
    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

struct Driver<C> {
    reader: ReadHalf<Box<dyn Stream>>,
    writer: WriteHalf<Box<dyn Stream>>,
    codec: C,
    clock: Clock,
    heard: Arc<AtomicU64>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// How much of `output` is written.
    written: usize,
    must_flush: bool,
}

impl<C: Codec> Driver<C> {
    async fn run(mut self, mut requests: mpsc::Receiver<C::Request>) {
        let problem = self.work(&mut requests).await;
        // Nobody is to give a request to what is over.
        requests.close();
        self.codec.abandon(&problem);
        let _ = self.clock.timeout(TICK, self.writer.shutdown()).await;
    }

    /// Goes on until the connection breaks or is not needed any more.
    async fn work(&mut self, requests: &mut mpsc::Receiver<C::Request>) -> Problem {
        let (mut silent, mut unused) = (0, 0);
        let clock = self.clock.clone();
        let mut tick = Box::pin(clock.sleep(TICK));
        let mut is_wanted = true;
        loop {
            if !is_wanted && self.codec.is_idle() && self.output.is_empty() {
                return Problem::broken("the connection was closed");
            }
            tokio::select! {
                read = self.reader.read_buf(&mut self.input) => {
                    match read {
                        Ok(0) => return Problem::broken("the broker closed the connection"),
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
                            return Problem::broken("the broker closed the connection");
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
                request = requests.recv(), if is_wanted && self.output.len() < MAX_UNWRITTEN => {
                    unused = 0;
                    match request {
                        Some(request) => self.give(request, requests),
                        None => is_wanted = false,
                    }
                }
                () = &mut tick => {
                    tick.set(clock.sleep(TICK));
                    unused += 1;
                    silent = if self.codec.is_idle() { 0 } else { silent + 1 };
                    if silent > SILENT_TICKS {
                        return Problem::broken("the broker did not answer for a minute");
                    }
                    if unused > IDLE_TICKS && self.codec.is_idle() {
                        return Problem::unsent();
                    }
                    if let Err(problem) = self.codec.tick(&mut self.output) {
                        return problem;
                    }
                }
            }
        }
    }

    /// Writes down what waits, to be sent in as few pieces as possible.
    fn give(&mut self, first: C::Request, requests: &mut mpsc::Receiver<C::Request>) {
        self.codec.encode(first, &mut self.output);
        while self.output.len() < MAX_UNWRITTEN
            && let Ok(request) = requests.try_recv()
        {
            self.codec.encode(request, &mut self.output);
        }
    }

    fn take_in(&mut self) -> Result<(), Problem> {
        let used = self.codec.decode(&self.input, &mut self.output)?;
        self.input.drain(..used);
        if self.input.len() > MAX_UNREAD {
            return Err(Problem::broken("the broker sent an answer without end"));
        }
        Ok(())
    }
}

/// Writes some of the bytes; where there are none left, sees to it that they are on their way. It may
/// be dropped while it waits: nothing is lost by that.
async fn write(writer: &mut WriteHalf<Box<dyn Stream>>, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() { writer.flush().await.map(|()| 0) } else { writer.write(bytes).await }
}
