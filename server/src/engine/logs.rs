//! Lines on their way from attempts to the tables, in batches: what is printed while one batch is
//! being written makes the next.

use std::time::Duration;

use entity::task_log;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::vault::Mask;
use crate::{
    clock::Clock,
    store::{Store, logs::NewLine},
    target::{Invocation, Line, Stream},
};

/// To the writer.
#[derive(Debug)]
pub(super) enum LogMessage {
    /// Write it.
    Line(NewLine),
    /// Say when all that came before is written.
    Flush(oneshot::Sender<()>),
}

/// So many lines go into one statement.
const BATCH: usize = 500;

/// The numbers of a run's lines while one node holds it. All tasks of the run draw from one row:
/// no two lines have the same number, and who follows the log by number misses none.
#[derive(Debug)]
pub(super) struct Numbers(Mutex<i64>);

impl Numbers {
    /// Those of the hold that is the run's `attempt`-th: later holds have higher numbers.
    pub(super) fn new(attempt: i32) -> Self {
        Self(Mutex::new(i64::from(attempt) << 32))
    }
}

/// Passes an attempt's lines on to the writer, numbered, and returns when the last is written:
/// a run that has settled has all its lines.
pub(super) async fn copy(
    writer: &mpsc::Sender<LogMessage>,
    numbers: &Numbers,
    invocation: &Invocation,
    mask: &Mask,
    mut lines: mpsc::Receiver<Line>,
) {
    let mut any = false;
    let mut was_cut = [false; 3];
    while let Some(line) = lines.recv().await {
        any = true;
        let was_cut = &mut was_cut[line.stream as usize];
        let goes_on = std::mem::replace(was_cut, Mask::is_cut(&line.text));
        let text = mask.text(line.text, goes_on);
        // Until the line is on its way: the lines of two tasks reach the writer in their order.
        let mut seq = numbers.0.lock().await;
        *seq += 1;
        let line = NewLine {
            run_id: invocation.run_id,
            seq: *seq,
            task: invocation.task.clone(),
            attempt: invocation.attempt,
            at: line.at.into(),
            stream: match line.stream {
                Stream::Stdout => task_log::Stream::Stdout,
                Stream::Stderr => task_log::Stream::Stderr,
                Stream::System => task_log::Stream::System,
            },
            text,
        };
        if writer.send(LogMessage::Line(line)).await.is_err() {
            return;
        }
    }
    if any {
        let (done, written) = oneshot::channel();
        if writer.send(LogMessage::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

/// How often a batch that the database does not take is tried before its lines are given up: the
/// run matters more. While the database is away, the run cannot go on either.
const TRIES: u32 = 6;
/// Between two tries lies so much time at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Writes until `stop`, and then what is still on its way.
pub(super) async fn write(
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
        let mut lines = Vec::with_capacity(batch.len());
        let mut waiting = Vec::new();
        for message in batch.drain(..) {
            match message {
                LogMessage::Line(line) => lines.push(line),
                LogMessage::Flush(done) => waiting.push(done),
            }
        }
        let mut pause = Duration::from_millis(100);
        let mut round = 1;
        loop {
            match store.append_lines(&lines).await {
                Ok(()) => break,
                Err(error) if round >= TRIES && !error.is_transient() => {
                    tracing::error!(lines = lines.len(), "failed to write log lines: {error}");
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
