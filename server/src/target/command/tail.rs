use std::collections::VecDeque;

use crate::target::{
    Line, Stream,
    text::{Bytes, Grouped},
};

/// How many bytes of the end of an output are kept: they wait in memory until the output ends.
const MAX_TAIL_BYTES: usize = 256 * 1024;

/// How many lines of the end are kept: a short line takes more memory than its text.
const MAX_TAIL_LINES: usize = 2_000;

/// The last lines of an output that is longer than what is kept of it.
///
/// Of both streams: where one is loud, the other keeps its last lines. What a program says of its
/// failure is often read before the rest of what it printed.
#[derive(Debug)]
pub(super) struct Tail {
    stdout: Lines,
    stderr: Lines,
    max_bytes: usize,
    next: u64,
    left_out_lines: u64,
    left_out_bytes: u64,
}

/// The last lines of one stream, each with its place among those of both.
#[derive(Debug, Default)]
struct Lines {
    lines: VecDeque<(u64, Line)>,
    bytes: usize,
}

impl Tail {
    /// Keeps about `max_bytes`: the last line of each stream is kept whatever its size.
    fn new(max_bytes: usize) -> Self {
        let (stdout, stderr) = (Lines::default(), Lines::default());
        Self { stdout, stderr, max_bytes, next: 0, left_out_lines: 0, left_out_bytes: 0 }
    }

    /// How a limit is divided: what the beginning may have, and the end.
    pub(super) fn divide(limit: usize) -> (usize, Self) {
        let of_end = (limit / 2).min(MAX_TAIL_BYTES);
        (limit - of_end, Self::new(of_end))
    }

    /// Takes the next line, and leaves out the oldest where there are too many. Says whether this
    /// line is the first for which one was left out.
    pub(super) fn push(&mut self, line: Line) -> bool {
        let had_room = self.left_out_lines == 0;
        let place = self.next;
        self.next += 1;
        let lines = match line.stream {
            Stream::Stderr => &mut self.stderr,
            Stream::Stdout | Stream::System => &mut self.stdout,
        };
        lines.bytes += cost(&line);
        lines.lines.push_back((place, line));
        while let Some(oldest) = self.superfluous() {
            let read = cost(&oldest).saturating_add(oldest.left_out);
            self.left_out_lines += 1;
            let read = u64::try_from(read).unwrap_or(u64::MAX);
            self.left_out_bytes = self.left_out_bytes.saturating_add(read);
        }
        had_room && self.left_out_lines > 0
    }

    /// Takes the oldest line of the louder stream away, while both have too many together.
    fn superfluous(&mut self) -> Option<Line> {
        let (stdout, stderr) = (&mut self.stdout, &mut self.stderr);
        let louder = if stdout.lines.len() + stderr.lines.len() > MAX_TAIL_LINES {
            if stdout.lines.len() > stderr.lines.len() { stdout } else { stderr }
        } else if stdout.bytes + stderr.bytes > self.max_bytes {
            let is_stdout = match (stdout.lines.len(), stderr.lines.len()) {
                (..=1, ..=1) => return None,
                (_, ..=1) => true,
                (..=1, _) => false,
                (_, _) => stdout.bytes > stderr.bytes,
            };
            if is_stdout { stdout } else { stderr }
        } else {
            return None;
        };
        let (_, oldest) = louder.lines.pop_front()?;
        louder.bytes -= cost(&oldest);
        Some(oldest)
    }

    /// Whether lines were left out.
    pub(super) fn is_cut(&self) -> bool {
        self.left_out_lines > 0
    }

    /// What stands in the place of the lines that were left out.
    pub(super) fn mark(&self) -> Option<String> {
        let lines = if self.left_out_lines == 1 { "line" } else { "lines" };
        self.is_cut().then(|| {
            let (count, bytes) = (Grouped(self.left_out_lines), Bytes(self.left_out_bytes));
            format!("... {count} {lines} ({bytes}) left out ...")
        })
    }

    /// The lines that are kept, in their order.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Line> + use<> {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        let mut lines: Vec<_> = stdout.lines.into_iter().chain(stderr.lines).collect();
        lines.sort_by_key(|(place, _)| *place);
        lines.into_iter().map(|(_, line)| line)
    }
}

/// What a line counts: its end as well, or empty lines would be free.
pub(super) fn cost(line: &Line) -> usize {
    line.text.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stream: Stream, text: &str) -> Line {
        Line { at: chrono::DateTime::UNIX_EPOCH, stream, text: text.to_owned(), left_out: 0 }
    }

    #[test]
    fn what_one_stream_said_is_not_lost_to_the_other() {
        let mut tail = Tail::new(1_000);
        tail.push(line(Stream::Stderr, "the error"));
        for _ in 0..10_000 {
            tail.push(line(Stream::Stdout, "progress"));
        }
        assert_eq!(tail.mark().unwrap(), "... 9,890 lines (89 kB) left out ...");
        let kept: Vec<_> = tail.take().collect();
        assert_eq!((kept.len(), kept[0].stream), (111, Stream::Stderr));
        assert_eq!(kept[110].text, "progress");
    }

    #[test]
    fn one_stream_alone_has_all_of_the_room() {
        let mut tail = Tail::new(100);
        for number in 0..30 {
            tail.push(line(Stream::Stderr, &format!("line {number:04}")));
        }
        assert_eq!(tail.take().count(), 10);
        let mut tail = Tail::new(10);
        tail.push(line(Stream::Stdout, &"x".repeat(500)));
        assert_eq!((tail.take().count(), tail.is_cut()), (1, false));
    }
}
