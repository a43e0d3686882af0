use std::collections::VecDeque;

use crate::target::{
    Line, Stream,
    text::{Bytes, WithSeparators},
};

/// Maximum number of bytes kept of an output's end. They are in memory until the output ends.
pub(crate) const MAX_TAIL_BYTES: usize = 256 * 1024;

/// Maximum number of lines kept of an output's end, because a short line takes more memory than its
/// text.
pub(crate) const MAX_TAIL_LINES: usize = 2_000;

/// The last lines of an output that exceeds the limit.
///
/// Both streams are kept: if one prints a lot, the other still keeps its last lines. This matters
/// because a program's message about its failure is often read before the rest of its output.
#[derive(Debug)]
pub(crate) struct Tail {
    stdout: TailLines,
    stderr: TailLines,
    max_bytes: usize,
    next: u64,
    left_out_lines: u64,
    left_out_bytes: u64,
}

/// The last lines of one stream, each with its position among the lines of both.
#[derive(Debug, Default)]
struct TailLines {
    lines: VecDeque<(u64, Line)>,
    bytes: usize,
}

impl Tail {
    /// Keeps about `max_bytes`. The last line of each stream is always kept, whatever its size.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let (stdout, stderr) = (TailLines::default(), TailLines::default());
        Self { stdout, stderr, max_bytes, next: 0, left_out_lines: 0, left_out_bytes: 0 }
    }

    /// Divides a limit between the beginning and the end.
    pub(super) fn divide(limit: usize) -> (usize, Self) {
        let of_end = (limit / 2).min(MAX_TAIL_BYTES);
        (limit - of_end, Self::new(of_end))
    }

    /// Adds the next line, and drops the oldest if there are too many. Returns whether a line was
    /// dropped for the first time.
    pub(crate) fn push(&mut self, line: Line) -> bool {
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

    /// Counts lines that were dropped before the first one that is added.
    pub(crate) fn leave_out(&mut self, lines: u64, bytes: u64) {
        self.left_out_lines = self.left_out_lines.saturating_add(lines);
        self.left_out_bytes = self.left_out_bytes.saturating_add(bytes);
    }

    /// Removes the oldest line of the stream with more output, as long as both together exceed the
    /// limit.
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

    /// The text that replaces the dropped lines.
    pub(crate) fn mark(&self) -> Option<String> {
        let lines = if self.left_out_lines == 1 { "line" } else { "lines" };
        self.is_cut().then(|| {
            let (count, bytes) = (WithSeparators(self.left_out_lines), Bytes(self.left_out_bytes));
            format!("... {count} {lines} ({bytes}) left out ...")
        })
    }

    /// The kept lines, in order.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Line> + use<> {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        let mut lines: Vec<_> = stdout.lines.into_iter().chain(stderr.lines).collect();
        lines.sort_by_key(|(place, _)| *place);
        lines.into_iter().map(|(_, line)| line)
    }
}

/// The size of a line. It includes the line end, because empty lines would otherwise cost nothing.
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
    fn one_stream_does_not_displace_the_end_of_the_other() {
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
    fn what_was_dropped_before_counts_as_well() {
        let mut tail = Tail::new(100);
        tail.leave_out(1_999, 5_000);
        for number in 0..11 {
            tail.push(line(Stream::Stdout, &format!("line {number:04}")));
        }
        assert_eq!(tail.mark().unwrap(), "... 2,000 lines (5 kB) left out ...");
        assert_eq!(tail.take().count(), 10);
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
