//! Passes log lines from attempts to the tables.
//! The lines of an attempt are grouped into chunks, and the chunks of all attempts into batches.
//! Lines printed while a batch is written form the next one.

use std::{
    sync::atomic::AtomicI64,
    time::{Duration, Instant},
};

use entity::{Timestamp, task_log};
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
        core::{Bisect, LogMessage},
        quotas::{LogQuota, Meter, Printer},
    },
    store::{
        Store,
        logs::{Chunk, NewChunk},
    },
    target::{Invocation, Line, Stream, Tail},
    telemetry::Instruments,
    vault::Mask,
};

/// Maximum number of messages that wait for the writer; together they hold at most 16 MB.
pub(in crate::engine) const MAX_QUEUE: usize = 512;

/// Maximum number of chunks that one statement writes.
const BATCH: usize = 128;

/// How long a line waits for others.
/// This is real time, not the application's clock, because people read a log while it is written.
const LINGER: Duration = Duration::from_millis(100);

/// How long a line of Carillon's own waits, such as that a request is sent. It says little until
/// the answer is there, and on a busy node most answers take longer than a program's line waits:
/// each would cost a row and a commit of its own.
const OWN_LINGER: Duration = Duration::from_secs(1);

/// The numbers of a run's lines while one node holds the run.
/// All tasks of the run share one sequence.
/// So no two lines have the same number, and a reader that follows the log by number misses none.
#[derive(Debug)]
pub(in crate::engine) struct LineNumbers {
    last: Mutex<i64>,
    /// Whether the run may have lines that an earlier hold wrote.
    is_repeated: bool,
    /// The total size of the run's lines in bytes.
    bytes: OnceCell<AtomicI64>,
}

impl LineNumbers {
    /// The numbers for hold number `attempt` on the run. A later hold has higher numbers.
    pub(in crate::engine) fn new(attempt: i32) -> Self {
        let last = Mutex::new(i64::from(attempt) << 32);
        Self { last, is_repeated: attempt > 1, bytes: OnceCell::new() }
    }

    /// The size of the run's lines so far. That of earlier holds is read once, at first use.
    async fn bytes(&self, store: &Store, run: Uuid) -> &AtomicI64 {
        let earlier = async {
            // If the database does not answer, this hold gets a quota of its own.
            let bytes = if self.is_repeated { store.log_bytes_of_run(run).await } else { Ok(0) };
            AtomicI64::new(bytes.unwrap_or_default())
        };
        self.bytes.get_or_init(|| earlier).await
    }
}

/// The quotas that limit an attempt's lines, and their sources.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct LogLimits<'a> {
    /// The node's usage counts per namespace.
    pub(in crate::engine) meter: &'a Meter,
    /// The store that contains the run's earlier lines.
    pub(in crate::engine) store: &'a Store,
    /// The metrics that count omitted lines.
    pub(in crate::engine) metrics: &'a Instruments,
    /// The clock of the agreed time, which decides when a day begins.
    pub(in crate::engine) agreed: &'a Clock,
}

/// How the last lines of an attempt are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum LastLines {
    /// They are written with the settlement: most attempts print little, and so need no separate
    /// commit. Only a run of a single task may do this: if another task wrote lines with higher
    /// numbers meanwhile, a reader that follows the log would miss these.
    WithSettlement,
    /// They are written as the lines before them are.
    AtOnce,
}

/// Numbers an attempt's lines and passes them to the writer. Returns the lines that are to be
/// written with the settlement.
/// All other lines have been written by then, so a settled run has all of its lines.
pub(in crate::engine) async fn copy(
    writer: &mpsc::Sender<LogMessage>,
    numbers: &LineNumbers,
    invocation: &Invocation,
    mask: &Mask,
    limits: LogLimits<'_>,
    mut lines: mpsc::Receiver<Line>,
    last: LastLines,
) -> Option<NewChunk> {
    // Lines are collected in real time, independent of the application's clock.
    let clock = Clock::system();
    let mut copier = Copier { writer, numbers, invocation, chunk: Chunk::default(), any: false };
    let mut was_cut = [false; 3];
    let mut over: Option<OverQuota> = None;
    let mut until: Option<Instant> = None;
    loop {
        let line = match (lines.try_recv(), until) {
            (Ok(line), _) => Some(line),
            (Err(TryRecvError::Disconnected), _) => None,
            (Err(TryRecvError::Empty), None) => lines.recv().await,
            (Err(TryRecvError::Empty), Some(at)) => {
                let left = at.saturating_duration_since(clock.instant());
                let Ok(line) = clock.timeout(left, lines.recv()).await else {
                    until = None;
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
        // This note must come after masking, which looks for a truncated secret at the very end.
        if left_out > 0 {
            text = format!("{text} ... {left_out} bytes of this line left out ...");
        }
        if let Some(over) = &mut over {
            over.leave_out(Line { at, stream, text, left_out: 0 });
            continue;
        }
        let mut stored = match stream {
            Stream::Stdout => task_log::Stream::Stdout,
            Stream::Stderr => task_log::Stream::Stderr,
            Stream::System => task_log::Stream::System,
        };
        let printer = printer(numbers, invocation, limits).await;
        if let Err(quota) = limits.meter.take_log(printer, text.len(), limits.agreed.now()) {
            let mark = format!("{quota}: the rest of this attempt's lines is left out");
            let line = Line { at, stream, text, left_out: 0 };
            over.insert(OverQuota::new(quota)).leave_out(line);
            (stored, text) = (task_log::Stream::System, mark);
        }
        if !copier.chunk.has_room(text.len()) {
            until = None;
            if !copier.send().await {
                return None;
            }
        }
        let linger = if stored == task_log::Stream::System { OWN_LINGER } else { LINGER };
        let latest = clock.instant() + linger;
        until = Some(until.map_or(latest, |until| until.min(latest)));
        copier.chunk.push(at.into(), stored, &text);
    }
    if let Some(over) = over {
        let printer = printer(numbers, invocation, limits).await;
        if !over.finish(&mut copier, printer, limits).await {
            return None;
        }
    }
    copier.finish(last).await
}

/// The printer to which the quotas and counts of an attempt apply.
async fn printer<'a>(
    numbers: &'a LineNumbers,
    invocation: &'a Invocation,
    limits: LogLimits<'_>,
) -> Printer<'a> {
    Printer {
        namespace: &invocation.namespace,
        schedule_id: invocation.schedule_id,
        of_run: numbers.bytes(limits.store, invocation.run_id).await,
    }
}

/// Size of an attempt's last error lines that are written even though a quota is used up.
const MAX_LAST_ERRORS: usize = 4 * 1024;
/// Maximum size of one of these error lines.
const MAX_LAST_ERROR: usize = 1024;

/// The omitted lines of an attempt that has used up a quota.
/// Its last lines on standard error are written at its end, because they say why it failed.
struct OverQuota {
    quota: LogQuota,
    lines: u64,
    errors: Tail,
}

impl OverQuota {
    fn new(quota: LogQuota) -> Self {
        Self { quota, lines: 0, errors: Tail::new(MAX_LAST_ERRORS) }
    }

    fn leave_out(&mut self, mut line: Line) {
        self.lines += 1;
        if line.stream == Stream::Stderr {
            line.text.truncate(line.text.floor_char_boundary(MAX_LAST_ERROR));
            self.errors.push(line);
        }
    }

    /// Writes the last error lines, and counts the omitted ones.
    /// Returns whether the writer still accepts lines.
    async fn finish(
        mut self,
        copier: &mut Copier<'_>,
        printer: Printer<'_>,
        limits: LogLimits<'_>,
    ) -> bool {
        let errors: Vec<Line> = self.errors.take().collect();
        let written = u64::try_from(errors.len()).unwrap_or(u64::MAX);
        let left_out = self.lines.saturating_sub(written);
        limits.metrics.log_lines_left_out(self.quota.label(), left_out);
        if let Some(first) = errors.first() {
            let heading = "the last lines of its errors:";
            if !copier.push(first.at.into(), task_log::Stream::System, heading).await {
                return false;
            }
        }
        let now = limits.agreed.now();
        for Line { at, text, .. } in errors {
            limits.meter.count_log(printer, text.len(), now);
            if !copier.push(at.into(), task_log::Stream::Stderr, &text).await {
                return false;
            }
        }
        true
    }
}

/// Waits until all lines that were sent earlier are written.
async fn flush(writer: &mpsc::Sender<LogMessage>) {
    let (done, written) = oneshot::channel();
    if writer.send(LogMessage::Flush(done)).await.is_ok() {
        let _ = written.await;
    }
}

struct Copier<'a> {
    writer: &'a mpsc::Sender<LogMessage>,
    numbers: &'a LineNumbers,
    invocation: &'a Invocation,
    chunk: Chunk,
    /// Whether any lines were sent to the writer.
    any: bool,
}

impl Copier<'_> {
    /// Adds a line to the chunk. Returns whether the writer still accepts lines.
    async fn push(&mut self, at: Timestamp, stream: task_log::Stream, text: &str) -> bool {
        if !self.chunk.has_room(text.len()) && !self.send().await {
            return false;
        }
        self.chunk.push(at, stream, text);
        true
    }

    /// Sends the collected lines to the writer. Returns whether it still accepts lines.
    async fn send(&mut self) -> bool {
        let numbers = self.numbers;
        // The lock is held until the chunk is sent,
        // so that chunks of two tasks reach the writer in order.
        let mut seq = numbers.last.lock().await;
        let Some(row) = self.row(&mut seq) else { return true };
        self.any = true;
        self.writer.send(LogMessage::Lines(row)).await.is_ok()
    }

    /// Waits until all lines that were sent are written. Returns those that are to be written with
    /// the settlement.
    async fn finish(mut self, last: LastLines) -> Option<NewChunk> {
        if last == LastLines::AtOnce && !self.send().await {
            return None;
        }
        if self.any {
            flush(self.writer).await;
        }
        self.take().await
    }

    /// Numbers the collected lines and takes them.
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

/// How often a rejected batch is tried before its lines are dropped, because the run matters more
/// than its log. While the database is unreachable, the run cannot continue either.
const TRIES: u32 = 6;
/// The first pause between two tries, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Writes lines until `stop`, and then the remaining ones.
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
        append(&store, &clock, &chunks).await;
        for done in waiting {
            let _ = done.send(());
        }
    }
}

/// Writes chunks of lines. If the database still refuses them after all tries, bisection isolates
/// the refused chunks, so that no other chunk is lost.
async fn append(store: &Store, clock: &Clock, chunks: &[NewChunk]) {
    let mut parts = Bisect::new(std::iter::once(0..chunks.len()));
    let mut pause = FIRST_PAUSE;
    let mut round = 1;
    while let Some(part) = parts.pop() {
        let Err(error) = store.append_lines(&chunks[part.clone()]).await else { continue };
        if round < TRIES || error.is_transient() {
            clock.sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            round += 1;
            parts.again(part);
        } else if !error.is_refusal() || parts.split(part.clone()).is_err() {
            tracing::error!(chunks = part.len(), %error, "failed to write log lines");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn invocation(task: &str) -> Invocation {
        Invocation {
            run_id: Uuid::nil(),
            attempt: 1,
            task: task.to_owned(),
            namespace: "default".to_owned(),
            namespace_id: Uuid::nil(),
            priority: 0,
            schedule: None,
            schedule_id: None,
            schedule_version: None,
            scheduled_at: None,
            idempotency_key: String::new(),
            traceparent: None,
            context: Value::Null,
            timeout: Duration::ZERO,
            kill_grace: Duration::ZERO,
        }
    }

    #[tokio::test]
    async fn the_last_lines_of_tasks_reach_the_writer_in_the_order_of_their_numbers() {
        let (writer, mut messages) = mpsc::channel(8);
        let numbers = LineNumbers::new(0);
        let received = async {
            let mut seqs = Vec::new();
            while let Some(message) = messages.recv().await {
                match message {
                    LogMessage::Lines(chunk) => seqs.push(chunk.seq),
                    LogMessage::Flush(done) => {
                        let _ = done.send(());
                    }
                }
            }
            seqs
        };
        let sent = async move {
            for task in ["a", "b"] {
                let invocation = invocation(task);
                let mut copier = Copier {
                    writer: &writer,
                    numbers: &numbers,
                    invocation: &invocation,
                    chunk: Chunk::default(),
                    any: false,
                };
                assert!(copier.push(Timestamp(0), task_log::Stream::Stdout, task).await);
                // Nothing is numbered that is not sent in the same step.
                assert!(copier.finish(LastLines::AtOnce).await.is_none());
            }
        };
        let (seqs, ()) = tokio::join!(received, sent);
        assert_eq!(seqs, [1, 2]);
    }
}
