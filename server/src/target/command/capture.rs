use std::{future::Future, pin::pin};

use futures::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStderr, ChildStdout},
    select,
};

use super::lines::{Lines, MOST_LINE_BYTES};
use crate::target::{Stream, log::Log};

/// So many reads empty two pipes of the largest size that the system gives, a mebibyte.
const LAST_READS: usize = 2 * 1024 * 1024 / MOST_LINE_BYTES;

/// A line so long was cut: the last character before a cut may be left for what follows.
const LEAST_CUT: usize = MOST_LINE_BYTES - 4;

/// What was read of a program's output. The lines themselves go to the log.
#[derive(Debug)]
pub(super) struct Capture {
    limit: usize,
    left: usize,
    truncated: bool,
    last_error_line: Option<String>,
    /// Whether the line on standard error before was cut off from the next.
    error_was_cut: bool,
}

impl Capture {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, left: limit, truncated: false, last_error_line: None, error_was_cut: false }
    }

    /// Whether there was more than was kept.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }

    /// The last line on standard error that says something: most often the reason of a failure.
    pub(super) fn last_error_line(&self) -> Option<&str> {
        self.last_error_line.as_deref()
    }

    /// Reads both streams to their ends and writes each line to the log as soon as it is whole.
    ///
    /// Beyond the limit it reads on and keeps nothing, since a program must not block on a pipe
    /// that nobody empties. After `gone` it reads what the pipes still hold, however far the log
    /// is behind, and waits for no more. Says whether it came to the ends of both.
    pub(super) async fn read(
        &mut self,
        stdout: ChildStdout,
        stderr: ChildStderr,
        log: &Log<'_>,
        gone: impl Future<Output = ()>,
    ) -> bool {
        let mut gone = pin!(gone);
        let mut stdout = Source::new(stdout);
        let mut stderr = Source::new(stderr);
        let mut last_reads = None;
        while stdout.open || stderr.open {
            let read = async {
                select! {
                    lines = stdout.lines(), if stdout.open => (Stream::Stdout, lines),
                    lines = stderr.lines(), if stderr.open => (Stream::Stderr, lines),
                }
            };
            let read = if let Some(left) = &mut last_reads {
                // Whoever still holds the output may write without end.
                *left -= 1;
                // First the runtime must have seen what is there.
                tokio::task::yield_now().await;
                read.now_or_never().filter(|_| *left > 0)
            } else {
                select! {
                    read = read => Some(read),
                    () = &mut gone => {
                        last_reads = Some(LAST_READS);
                        continue;
                    }
                }
            };
            let Some((stream, lines)) = read else { return false };
            for line in lines {
                self.keep(stream, line, log).await;
            }
        }
        true
    }

    async fn keep(&mut self, stream: Stream, line: String, log: &Log<'_>) {
        if self.truncated {
            return;
        }
        // The line's end counts, or empty lines would be free.
        let Some(left) = self.left.checked_sub(line.len() + 1) else {
            self.truncated = true;
            log.system(format!("output truncated: more than {} bytes", self.limit)).await;
            return;
        };
        self.left = left;
        if stream == Stream::Stderr {
            // Of a line that was cut, the beginning says what it is about.
            let goes_on = std::mem::replace(&mut self.error_was_cut, line.len() > LEAST_CUT);
            if !goes_on && !line.trim().is_empty() {
                self.last_error_line = Some(line.clone());
            }
        }
        log.write(stream, line).await;
    }
}

/// One of the streams.
struct Source<R> {
    reader: R,
    buffer: Vec<u8>,
    lines: Lines,
    open: bool,
}

impl<R: AsyncRead + Unpin> Source<R> {
    fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; MOST_LINE_BYTES], lines: Lines::default(), open: true }
    }

    /// The lines that the next bytes complete. Dropping the future loses nothing: it has done
    /// nothing until it is ready.
    async fn lines(&mut self) -> Vec<String> {
        match self.reader.read(&mut self.buffer).await {
            Ok(0) | Err(_) => {
                self.open = false;
                self.lines.finish()
            }
            Ok(count) => self.lines.push(&self.buffer[..count]),
        }
    }
}
