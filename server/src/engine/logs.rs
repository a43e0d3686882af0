//! Lines on their way from attempts to the tables, in batches: what is printed while one batch is
//! being written makes the next.

use std::time::Duration;

use entity::task_log;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    store::{Store, holds::Hold, logs::NewLine},
    target::{Line, Stream},
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

/// Passes an attempt's lines on to the writer, numbered, and returns when the last is written:
/// a run that has settled has all its lines.
pub(super) async fn copy(
    writer: &mpsc::Sender<LogMessage>,
    hold: &Hold,
    task: &str,
    mut lines: mpsc::Receiver<Line>,
) {
    let mut seq = i64::from(hold.attempt) << 32;
    while let Some(line) = lines.recv().await {
        seq += 1;
        let line = NewLine {
            run_id: hold.run_id,
            seq,
            task: task.to_owned(),
            attempt: hold.attempt,
            at: line.at.into(),
            stream: match line.stream {
                Stream::Stdout => task_log::Stream::Stdout,
                Stream::Stderr => task_log::Stream::Stderr,
                Stream::System => task_log::Stream::System,
            },
            text: line.text,
        };
        if writer.send(LogMessage::Line(line)).await.is_err() {
            return;
        }
    }
    if seq & 0xffff_ffff > 0 {
        let (done, written) = oneshot::channel();
        if writer.send(LogMessage::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

/// How often a batch is tried before its lines are given up: the run matters more.
const TRIES: u32 = 6;

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
        for round in 1..=TRIES {
            match store.append_lines(&lines).await {
                Ok(()) => break,
                Err(error) if round == TRIES => {
                    tracing::error!(lines = lines.len(), "failed to write log lines: {error}");
                }
                Err(_) => clock.sleep(Duration::from_millis(50 << round)).await,
            }
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
}
