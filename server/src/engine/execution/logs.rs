//! Log lines on their way from attempts to the tables: an attempt's lines are grouped in chunks,
//! and the chunks of all attempts in batches. Lines printed while one batch is being written form
//! the next.

use std::{
    sync::atomic::AtomicI64,
    time::{Duration, Instant},
};

use entity::task_log;
use tokio::sync::{
    Mutex, OnceCell,
    mpsc::{self, error::TryRecvError},
    oneshot,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    clock::Clock,
    engine::{
        core::LogMessage,
        quotas::{LogQuota, Meter, Printer},
    },
    store::{
        Store,
        logs::{Chunk, NewChunk},
    },
    target::{Invocation, Line, Stream},
    telemetry::Metrics,
    vault::Mask,
};

/// How many messages may wait for the writer: together they hold at most 16 MB.
pub(in crate::engine) const MAX_QUEUE: usize = 512;

/// How many chunks one statement writes.
const BATCH: usize = 128;

/// How long a line waits for others, in real time: people follow a log while it is written.
const LINGER: Duration = Duration::from_millis(100);

/// The numbers of a run's lines while one node holds it. All tasks of the run share one sequence:
/// no two lines have the same number, and a reader that follows the log by number misses none.
#[derive(Debug)]
pub(in crate::engine) struct Numbers {
    last: Mutex<i64>,
    /// Whether the run may have lines from an earlier hold.
    is_repeated: bool,
    /// The bytes of the run's lines.
    bytes: OnceCell<AtomicI64>,
}

impl Numbers {
    /// The numbers for the run's `attempt`-th hold: later holds have higher numbers.
    pub(in crate::engine) fn new(attempt: i32) -> Self {
        let last = Mutex::new(i64::from(attempt) << 32);
        Self { last, is_repeated: attempt > 1, bytes: OnceCell::new() }
    }

    /// The bytes of the run's lines so far. Those of earlier holds are read once.
    async fn bytes(&self, store: &Store, run: Uuid) -> &AtomicI64 {
        let earlier = async {
            // Without an answer, this hold has a quota of its own.
            let bytes = if self.is_repeated { store.log_bytes_of_run(run).await } else { Ok(0) };
            AtomicI64::new(bytes.unwrap_or_default())
        };
        self.bytes.get_or_init(|| earlier).await
    }
}

/// What limits the lines of an attempt.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Limits<'a> {
    /// The node's counts per namespace.
    pub(in crate::engine) meter: &'a Meter,
    /// Where the run's earlier lines are.
    pub(in crate::engine) store: &'a Store,
    /// Counts lines that are left out.
    pub(in crate::engine) metrics: &'a Metrics,
    /// The clock by which days begin.
    pub(in crate::engine) agreed: &'a Clock,
}

/// Numbers an attempt's lines and passes them to the writer. Returns the last of them, which are
/// written with the settlement: most attempts print little, and need no separate commit for it. The
/// other lines are written by then, so a settled run has all its lines.
pub(in crate::engine) async fn copy(
    writer: &mpsc::Sender<LogMessage>,
    numbers: &Numbers,
    invocation: &Invocation,
    mask: &Mask,
    limits: Limits<'_>,
    mut lines: mpsc::Receiver<Line>,
) -> Option<NewChunk> {
    // Lines do not depend on the application's clock.
    let clock = Clock::system();
    let mut copier = Copier { writer, numbers, invocation, chunk: Chunk::default(), any: false };
    let mut was_cut = [false; 3];
    let mut over: Option<(LogQuota, u64)> = None;
    let mut begun: Option<Instant> = None;
    loop {
        let line = match (lines.try_recv(), begun) {
            (Ok(line), _) => Some(line),
            (Err(TryRecvError::Disconnected), _) => None,
            (Err(TryRecvError::Empty), None) => lines.recv().await,
            (Err(TryRecvError::Empty), Some(at)) => {
                let waited = clock.instant().saturating_duration_since(at);
                let left = LINGER.saturating_sub(waited);
                let Ok(line) = clock.timeout(left, lines.recv()).await else {
                    begun = None;
                    if !copier.send().await {
                        return None;
                    }
                    continue;
                };
                line
            }
        };
        let Some(Line { at, stream, text, left_out }) = line else { break };
        let was_cut = &mut was_cut[stream as usize];
        let goes_on = std::mem::replace(was_cut, Mask::is_cut(&text));
        let mut text = mask.text(text, goes_on);
        // After masking, which looks for a truncated secret at the very end.
        if left_out > 0 {
            text = format!("{text} ... {left_out} bytes of this line left out ...");
        }
        if let Some((_, left_out)) = &mut over {
            *left_out += 1;
            continue;
        }
        let mut stream = match stream {
            Stream::Stdout => task_log::Stream::Stdout,
            Stream::Stderr => task_log::Stream::Stderr,
            Stream::System => task_log::Stream::System,
        };
        let printer = Printer {
            namespace: &invocation.namespace,
            schedule_id: invocation.schedule_id,
            of_run: numbers.bytes(limits.store, invocation.run_id).await,
        };
        if let Err(quota) = limits.meter.take_log(printer, text.len(), limits.agreed.now()) {
            (over, stream) = (Some((quota, 1)), task_log::Stream::System);
            text = format!("{quota}: the rest of this attempt's lines is left out");
        }
        if !copier.chunk.has_room(text.len()) {
            begun = None;
            if !copier.send().await {
                return None;
            }
        }
        begun.get_or_insert_with(|| clock.instant());
        copier.chunk.push(at.into(), stream, &text);
    }
    if let Some((quota, lines)) = over {
        limits.metrics.log_lines_left_out(quota.label(), lines);
    }
    if copier.any {
        flush(writer).await;
    }
    copier.take().await
}

/// Writes the last lines of an attempt that has no settlement of its own.
pub(in crate::engine) async fn finish(writer: &mpsc::Sender<LogMessage>, last: Option<NewChunk>) {
    if let Some(chunk) = last
        && writer.send(LogMessage::Lines(chunk)).await.is_ok()
    {
        flush(writer).await;
    }
}

/// Waits until everything sent before is written.
async fn flush(writer: &mpsc::Sender<LogMessage>) {
    let (done, written) = oneshot::channel();
    if writer.send(LogMessage::Flush(done)).await.is_ok() {
        let _ = written.await;
    }
}

struct Copier<'a> {
    writer: &'a mpsc::Sender<LogMessage>,
    numbers: &'a Numbers,
    invocation: &'a Invocation,
    chunk: Chunk,
    /// Whether anything was sent.
    any: bool,
}

impl Copier<'_> {
    /// Sends the collected lines. Returns whether the writer still accepts them.
    async fn send(&mut self) -> bool {
        let numbers = self.numbers;
        // Held until the chunk is sent, so that the chunks of two tasks reach the writer in order.
        let mut seq = numbers.last.lock().await;
        let Some(row) = self.row(&mut seq) else { return true };
        self.any = true;
        self.writer.send(LogMessage::Lines(row)).await.is_ok()
    }

    /// The collected lines, numbered.
    async fn take(&mut self) -> Option<NewChunk> {
        let numbers = self.numbers;
        self.row(&mut *numbers.last.lock().await)
    }

    fn row(&mut self, seq: &mut i64) -> Option<NewChunk> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() {
            return None;
        }
        let Invocation { run_id, task, attempt, .. } = self.invocation;
        *seq += i64::try_from(chunk.len()).unwrap_or(i64::MAX);
        chunk.row(*run_id, *seq, task, *attempt)
    }
}

/// How often a batch that the database rejects is tried before its lines are dropped: the run
/// matters more. While the database is away, the run cannot continue either.
const TRIES: u32 = 6;
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Writes until `stop`, and then the remaining messages.
pub(in crate::engine) async fn write(
    store: Store,
    clock: Clock,
    mut messages: mpsc::Receiver<LogMessage>,
    stop: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let received = tokio::select! {
            biased;
            received = messages.recv_many(&mut batch, BATCH) => received,
            () = stop.cancelled(), if !messages.is_closed() => {
                messages.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        let mut chunks = Vec::with_capacity(batch.len());
        let mut waiting = Vec::new();
        for message in batch.drain(..) {
            match message {
                LogMessage::Lines(chunk) => chunks.push(chunk),
                LogMessage::Flush(done) => waiting.push(done),
            }
        }
        let mut pause = Duration::from_millis(100);
        let mut round = 1;
        loop {
            match store.append_lines(&chunks).await {
                Ok(()) => break,
                Err(error) if round >= TRIES && !error.is_transient() => {
                    tracing::error!(chunks = chunks.len(), "failed to write log lines: {error}");
                    break;
                }
                Err(_) => clock.sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            round += 1;
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
}
