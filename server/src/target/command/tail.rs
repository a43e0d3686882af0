use std::collections::VecDeque;

use crate::target::{
    Line,
    text::{Bytes, Grouped},
};

/// How many bytes of the end of an output are kept: they wait in memory until the output ends.
const MAX_TAIL_BYTES: usize = 256 * 1024;

/// How many lines of the end are kept: a short line takes more memory than its text.
const MAX_TAIL_LINES: usize = 2_000;

/// The last lines of an output that is longer than what is kept of it.
#[derive(Debug)]
pub(super) struct Tail {
    lines: VecDeque<Line>,
    bytes: usize,
    max_bytes: usize,
    left_out_lines: u64,
    left_out_bytes: u64,
}

impl Tail {
    /// Keeps about `max_bytes`: the last line is kept whatever its size.
    fn new(max_bytes: usize) -> Self {
        let (lines, bytes) = (VecDeque::new(), 0);
        Self { lines, bytes, max_bytes, left_out_lines: 0, left_out_bytes: 0 }
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
        self.bytes += cost(&line);
        self.lines.push_back(line);
        while self.lines.len() > MAX_TAIL_LINES
            || (self.bytes > self.max_bytes && self.lines.len() > 1)
        {
            let Some(oldest) = self.lines.pop_front() else { break };
            let cost = cost(&oldest);
            self.bytes -= cost;
            self.left_out_lines += 1;
            let read = u64::try_from(cost.saturating_add(oldest.left_out)).unwrap_or(u64::MAX);
            self.left_out_bytes = self.left_out_bytes.saturating_add(read);
        }
        had_room && self.left_out_lines > 0
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
        self.bytes = 0;
        std::mem::take(&mut self.lines).into_iter()
    }
}

/// What a line counts: its end as well, or empty lines would be free.
pub(super) fn cost(line: &Line) -> usize {
    line.text.len() + 1
}
