//! The log lines of one job on their way to the server.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

const MAX_LINES: usize = 200;
/// Maximum size of the text in one request. The server accepts 256 KiB; the rest is for JSON's
/// punctuation and escapes.
const MAX_BYTES: usize = 96 * 1024;
const MAX_LINE_BYTES: usize = 16 * 1024;
const MAX_WAITING: usize = 10_000;
const CUT: &str = " [cut]";

/// The stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Normal output.
    Stdout,
    /// Errors.
    Stderr,
}

/// The waiting lines of a job. Their number is limited: if a function writes faster than the server
/// accepts lines, lines are counted and dropped.
#[derive(Debug, Default)]
pub(crate) struct JobLog {
    waiting: Mutex<Waiting>,
    /// Held while lines are being sent, so that they arrive in order.
    pub(crate) sending: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<(Stream, String)>,
    dropped: usize,
}

impl JobLog {
    pub(crate) fn add(&self, stream: Stream, text: &str) {
        let mut waiting = self.lock();
        // PostgreSQL does not accept a null character in text.
        let clean = text.replace('\0', "\u{fffd}");
        let lines: Vec<&str> = if clean.is_empty() { vec![""] } else { clean.lines().collect() };
        for line in lines {
            if waiting.lines.len() >= MAX_WAITING {
                waiting.dropped += 1;
            } else {
                waiting.lines.push_back((stream, cut(line, MAX_LINE_BYTES)));
            }
        }
    }

    /// Whether no lines wait.
    pub(crate) fn is_empty(&self) -> bool {
        let waiting = self.lock();
        waiting.lines.is_empty() && waiting.dropped == 0
    }

    /// The lines of one request; empty if there are none.
    pub(crate) fn batch(&self) -> Vec<Value> {
        let mut waiting = self.lock();
        let mut batch = Vec::new();
        let mut size = 0;
        while let Some((stream, text)) = waiting.lines.pop_front() {
            size += text.len();
            if batch.len() == MAX_LINES || (size > MAX_BYTES && !batch.is_empty()) {
                waiting.lines.push_front((stream, text));
                return batch;
            }
            batch.push(line(stream, &text));
        }
        if waiting.dropped > 0 && batch.len() < MAX_LINES {
            let dropped = std::mem::take(&mut waiting.dropped);
            let text = format!("[carillon] {dropped} lines were dropped: they came too fast");
            batch.push(line(Stream::Stderr, &text));
        }
        batch
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(stream: Stream, text: &str) -> Value {
    let stream = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    json!({ "stream": stream, "text": text })
}

/// The text cut to this many bytes, with a mark if it was longer.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_in_order() {
        let log = JobLog::default();
        log.add(Stream::Stdout, "one\ntwo\0\n");
        log.add(Stream::Stderr, &"é".repeat(10_000));
        let batch = log.batch();
        let texts: Vec<_> = batch.iter().filter_map(|line| line["text"].as_str()).collect();
        assert_eq!(texts[..2], ["one", "two\u{fffd}"]);
        assert_eq!(texts[2], format!("{}{CUT}", "é".repeat(8_189)));
        assert_eq!(batch[2]["stream"], "stderr");
        assert!(log.batch().is_empty());

        log.add(Stream::Stdout, &"x\n".repeat(30_000));
        let batches: Vec<_> = std::iter::from_fn(|| Some(log.batch()))
            .take_while(|batch| !batch.is_empty())
            .collect();
        assert!(batches.iter().all(|batch| batch.len() <= MAX_LINES));
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), MAX_WAITING + 1);
        let last = &batches.last().unwrap()[0]["text"];
        assert_eq!(last, "[carillon] 20000 lines were dropped: they came too fast");

        log.add(Stream::Stdout, &format!("{}\n", "x".repeat(16_000)).repeat(20));
        assert_eq!(log.batch().len(), 6);
    }
}
