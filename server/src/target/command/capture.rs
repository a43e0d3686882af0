//! Reads the output of a program within limits.

use std::{future::Future, pin::pin};

use futures::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    select,
};

use super::{
    error_lines::ErrorLines,
    lines::{Lines, OutputLine},
};
use crate::target::{
    Stream,
    log::AttemptLog,
    tail::{Tail, cost},
    text::Bytes,
};

/// Maximum number of bytes per read.
const READ_BYTES: usize = 16 * 1024;

/// Enough reads to empty two pipes of the maximum size, which is one mebibyte each.
const LAST_READS: usize = 2 * 1024 * 1024 / READ_BYTES;

/// The summary of a program's output. The lines themselves go to the log: the first ones as they
/// arrive; beyond the limit, only the last ones, after the output has ended.
#[derive(Debug)]
pub(super) struct Capture {
    limit: usize,
    /// How many more bytes may be written as part of the beginning.
    head_left: usize,
    /// Whether the beginning is complete.
    is_beyond_head: bool,
    tail: Tail,
    error_lines: ErrorLines,
    has_cut_line: bool,
}

impl Capture {
    /// Keeps at most `limit` bytes, but always the last line of each stream.
    pub(super) fn new(limit: usize) -> Self {
        let (head_left, tail) = Tail::divide(limit);
        Self {
            limit,
            head_left,
            is_beyond_head: false,
            tail,
            error_lines: ErrorLines::default(),
            has_cut_line: false,
        }
    }

    /// Whether the output exceeded the limit.
    pub(super) fn truncated(&self) -> bool {
        self.tail.is_cut() || self.has_cut_line
    }

    /// The last lines on standard error, joined into one.
    pub(super) fn error_lines(&self) -> Option<String> {
        self.error_lines.joined()
    }

    /// Reads both streams to their ends and writes each line to the log as soon as it is complete,
    /// up to the limit.
    ///
    /// Beyond the limit, it continues to read and keeps the last lines, because a program must not
    /// block on a full pipe. After `gone`, it reads the remaining contents of the pipes, however
    /// far behind the log is, and then stops. Returns whether both streams were read to their ends.
    pub(super) async fn read(
        &mut self,
        stdout: impl AsyncRead + Unpin,
        stderr: impl AsyncRead + Unpin,
        log: &AttemptLog<'_>,
        gone: impl Future<Output = ()>,
    ) -> bool {
        let is_whole = self.read_lines(stdout, stderr, log, gone).await;
        if let Some(mark) = self.tail.mark() {
            log.system(mark).await;
        }
        for line in self.tail.take() {
            log.write_line(line).await;
        }
        is_whole
    }

    async fn read_lines(
        &mut self,
        stdout: impl AsyncRead + Unpin,
        stderr: impl AsyncRead + Unpin,
        log: &AttemptLog<'_>,
        gone: impl Future<Output = ()>,
    ) -> bool {
        let mut gone = pin!(gone);
        let mut stdout = OutputStream::new(stdout);
        let mut stderr = OutputStream::new(stderr);
        let mut last_reads = None;
        while stdout.open || stderr.open {
            let read = async {
                select! {
                    lines = stdout.lines(), if stdout.open => (Stream::Stdout, lines),
                    lines = stderr.lines(), if stderr.open => (Stream::Stderr, lines),
                }
            };
            let read = if let Some(left) = &mut last_reads {
                // A process that still has the output open may write endlessly, so the number of
                // reads is limited.
                *left -= 1;
                // The runtime needs a turn to notice the available data.
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
            let Some((stream, lines)) = read else {
                // What was printed last may have no line end yet.
                let rest = [
                    (Stream::Stdout, stdout.lines.finish()),
                    (Stream::Stderr, stderr.lines.finish()),
                ];
                for (stream, line) in rest {
                    if let Some(line) = line {
                        self.keep(stream, line, log).await;
                    }
                }
                return false;
            };
            for line in lines {
                self.keep(stream, line, log).await;
            }
        }
        true
    }

    async fn keep(&mut self, stream: Stream, line: OutputLine, log: &AttemptLog<'_>) {
        let is_cut = line.left_out > 0;
        self.has_cut_line |= is_cut;
        if stream == Stream::Stderr {
            self.error_lines.push(&line.text, is_cut);
        }
        let line = log.line(stream, line.text, line.left_out);
        match self.head_left.checked_sub(cost(&line)) {
            Some(left) if !self.is_beyond_head => {
                self.head_left = left;
                log.write_line(line).await;
            }
            Some(_) | None => {
                self.is_beyond_head = true;
                if self.tail.push(line) {
                    let limit = Bytes(u64::try_from(self.limit).unwrap_or(u64::MAX));
                    log.system(format!(
                        "the output is larger than {limit}: its end follows when the program has \
                         ended"
                    ))
                    .await;
                }
            }
        }
    }
}

/// One of the two output streams.
struct OutputStream<R> {
    reader: R,
    buffer: Vec<u8>,
    lines: Lines,
    open: bool,
}

impl<R: AsyncRead + Unpin> OutputStream<R> {
    fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; READ_BYTES], lines: Lines::default(), open: true }
    }

    /// The lines that the next bytes complete. The future is cancel-safe: it changes nothing until
    /// it is ready.
    async fn lines(&mut self) -> Vec<OutputLine> {
        match self.reader.read(&mut self.buffer).await {
            Ok(0) | Err(_) => {
                self.open = false;
                self.lines.finish().into_iter().collect()
            }
            Ok(count) => self.lines.push(&self.buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use tokio::{io::AsyncWriteExt, sync::mpsc};

    use super::*;
    use crate::{
        clock::Clock,
        target::{Line, command::lines::MAX_LINE_BYTES},
    };

    /// Reads two texts as a program's output; returns the lines of the log and the capture.
    fn captured(limit: usize, stdout: &[u8], stderr: &[u8]) -> (Vec<Line>, Capture) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let clock = Clock::system();
            let (sender, mut received) = mpsc::channel(8);
            let log = AttemptLog::new(&clock, sender);
            let mut capture = Capture::new(limit);
            let read = async {
                let never = std::future::pending();
                let is_whole = capture.read(stdout, stderr, &log, never).await;
                drop(log);
                is_whole
            };
            let all = async {
                let mut all = Vec::new();
                while let Some(line) = received.recv().await {
                    all.push(line);
                }
                all
            };
            let (is_whole, all) = tokio::join!(read, all);
            assert!(is_whole);
            (all, capture)
        })
    }

    fn shown(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn the_beginning_and_the_end_are_kept_with_a_mark_between() {
        let text: String = (0..1_000).map(|number| format!("{number:03}\n")).collect();
        let (lines, capture) = captured(80, text.as_bytes(), b"");
        let mut expected: Vec<String> = (0..10).map(|number| format!("{number:03}")).collect();
        expected.push(
            "the output is larger than 80 bytes: its end follows when the program has ended"
                .to_owned(),
        );
        expected.push("... 980 lines (3 kB) left out ...".to_owned());
        expected.extend((990..1_000).map(|number| number.to_string()));
        assert_eq!(shown(&lines), expected);
        assert!(capture.truncated());
    }

    #[test]
    fn output_within_the_limit_is_kept_whole() {
        let text: String = (0..20).map(|number| format!("{number:03}\n")).collect();
        let (lines, capture) = captured(80, text.as_bytes(), b"");
        assert_eq!(shown(&lines).concat(), text.replace('\n', ""));
        assert!(!capture.truncated());
    }

    #[test]
    fn many_short_lines_at_the_end_take_little_memory() {
        let (lines, _) = captured(1024 * 1024, &b"x\n".repeat(1024 * 1024), b"");
        let head = (1024 - 256) * 1024 / 2;
        assert_eq!(lines.len(), head + 2 + 2_000);
    }

    #[tokio::test]
    async fn a_last_line_without_an_end_is_kept_although_the_output_stays_open() {
        let clock = Clock::system();
        let (sender, mut received) = mpsc::channel(8);
        let log = AttemptLog::new(&clock, sender);
        // A process that left the group holds it open.
        let (mut program, stdout) = tokio::io::duplex(64);
        program.write_all(b"one\ntwo").await.unwrap();
        let mut capture = Capture::new(1_024);
        let gone = std::future::ready(());
        assert!(!capture.read(stdout, tokio::io::empty(), &log, gone).await);
        drop(log);
        let mut lines = Vec::new();
        while let Some(line) = received.recv().await {
            lines.push(line);
        }
        assert_eq!(shown(&lines), ["one", "two"]);
    }

    /// Pieces of unusual output.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => vec(any::<u8>(), 0..200),
            3 => "[a-z\u{e4}\u{20ac}\u{1f600} ]{0,80}".prop_map(String::into_bytes),
            2 => Just(b"\n".to_vec()),
            1 => Just(b"\r\n".to_vec()),
            1 => Just(b"\0\0".to_vec()),
            1 => Just(b"\x1b[31mred\x1b[0m\x1b]0;title\x07".to_vec()),
            1 => Just(b"\xf0\x9f\x98".to_vec()),
            1 => (1_usize..40_000).prop_map(|size| vec![b'y'; size]),
            1 => (1_usize..20_000).prop_map(|size| "\u{20ac}".repeat(size).into_bytes()),
            1 => (1_usize..3_000).prop_map(|count| b"z\n".repeat(count)),
        ];
        vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn any_output_is_bounded_and_keeps_its_ends(
            stdout in pieces(),
            stderr in pieces(),
            limit in 1_usize..60_000,
        ) {
            let (lines, capture) = captured(limit, &stdout, &stderr);
            let own = lines.iter().filter(|line| line.stream == Stream::System).count();
            prop_assert!(own == 0 || own == 2);
            let kept: usize = lines
                .iter()
                .filter(|line| line.stream != Stream::System)
                .map(|line| line.text.len() + 1)
                .sum();
            prop_assert!(kept <= limit + 2 * (MAX_LINE_BYTES + 1), "{kept} of {limit}");
            for line in &lines {
                prop_assert!(line.text.len() <= MAX_LINE_BYTES);
                prop_assert!(!line.text.contains(['\0', '\n']));
            }
            // The log contains the lines of each stream without a gap up to the limit, and then the
            // last ones.
            for (stream, bytes) in [(Stream::Stdout, &stdout), (Stream::Stderr, &stderr)] {
                let mut split = Lines::default();
                let mut all = split.push(bytes);
                all.extend(split.finish());
                let seen: Vec<_> = lines.iter().filter(|line| line.stream == stream).collect();
                prop_assert!(seen.len() <= all.len());
                let begins = seen.iter().zip(&all).take_while(|(a, b)| a.text == b.text).count();
                let ends = seen
                    .iter()
                    .rev()
                    .zip(all.iter().rev())
                    .take_while(|(a, b)| a.text == b.text)
                    .count();
                prop_assert!(begins + ends >= seen.len());
                if own == 0 {
                    prop_assert_eq!(seen.len(), all.len());
                }
            }
            let is_cut = lines.iter().any(|line| line.left_out > 0);
            prop_assert!(capture.truncated() || (own == 0 && !is_cut));
            prop_assert!(capture.error_lines().is_none_or(|said| said.len() < 17_000));
        }
    }
}
