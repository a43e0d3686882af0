//! The lines of a log, the visible lines among them, and the matches of a search (pure). Each value here grows with
//! the log, and a new line never causes it to be recomputed.

use std::collections::BTreeMap;

use super::ansi::{Pen, Stroke, read};
use crate::{
    model::{LogEvent, LogStream},
    time::Moment,
};

/// One line of the log, ready to be drawn.
pub(super) struct LogLine {
    pub(super) task: String,
    pub(super) attempt: i64,
    pub(super) at: Moment,
    pub(super) stream: LogStream,
    pub(super) text: String,
    pub(super) strokes: Vec<Stroke>,
}

/// Decides which lines are visible; an empty field does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) task: String,
    pub(super) attempt: Option<i64>,
    pub(super) stream: Option<LogStream>,
}

impl Filter {
    fn shows(&self, line: &LogLine) -> bool {
        (self.task.is_empty() || self.task == line.task)
            && self.attempt.is_none_or(|attempt| attempt == line.attempt)
            && self.stream.is_none_or(|stream| stream == line.stream)
    }
}

/// A match: the index of its line among the visible lines, and its bytes within the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) place: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// A log with its filter and search.
#[derive(Default)]
pub(super) struct Log {
    lines: Vec<LogLine>,
    /// The current style of each stream of each attempt.
    pens: BTreeMap<(String, i64, bool), Pen>,
    filter: Filter,
    /// Indices of the visible lines.
    shown: Vec<usize>,
    /// Number of characters per row; `None` if lines are not wrapped.
    columns: Option<usize>,
    /// For each visible line, the row after its last row.
    ends: Vec<usize>,
    query: String,
    hits: Vec<Hit>,
    /// Whether the log contains lines of more than one attempt. If so, each line names its attempt.
    is_mixed: bool,
}

impl Log {
    pub(super) fn push(&mut self, events: Vec<LogEvent>) {
        let old = self.lines.len();
        for LogEvent { line, .. } in events {
            let source = (line.task.clone(), line.attempt, line.stream == LogStream::Stderr);
            let pen = self.pens.entry(source).or_default();
            let (text, strokes) = read(&line.text, pen);
            let (task, attempt) = (line.task, line.attempt);
            if let Some(first) = self.lines.first() {
                self.is_mixed |= first.task != task || first.attempt != attempt;
            }
            let line = LogLine { task, attempt, at: line.at, stream: line.stream, text, strokes };
            self.lines.push(line);
        }
        self.show_from(old);
    }

    pub(super) fn clear(&mut self) {
        let Self { filter, columns, query, .. } = std::mem::take(self);
        *self = Self { filter, columns, query, ..Self::default() };
    }

    /// Applies another filter.
    pub(super) fn narrow(&mut self, filter: Filter) {
        if self.filter != filter {
            self.filter = filter;
            self.again();
        }
    }

    /// Wraps lines after this many characters, or not at all.
    pub(super) fn wrap(&mut self, columns: Option<usize>) {
        if self.columns != columns {
            self.columns = columns;
            self.again();
        }
    }

    /// Searches for another text, ignoring case.
    pub(super) fn search(&mut self, query: &str) {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.hits.clear();
            self.find_from(0);
        }
    }

    fn again(&mut self) {
        self.shown.clear();
        self.ends.clear();
        self.hits.clear();
        self.show_from(0);
    }

    /// Adds the lines from an index on to the visible lines and the matches.
    fn show_from(&mut self, first: usize) {
        let old = self.shown.len();
        for (index, line) in self.lines.iter().enumerate().skip(first) {
            if self.filter.shows(line) {
                let end = self.ends.last().copied().unwrap_or(0) + rows(&line.text, self.columns);
                self.ends.push(end);
                self.shown.push(index);
            }
        }
        self.find_from(old);
    }

    fn find_from(&mut self, first: usize) {
        if self.query.is_empty() {
            return;
        }
        for (place, index) in self.shown.iter().enumerate().skip(first) {
            let Some(line) = self.lines.get(*index) else { continue };
            let found = occurrences(&line.text, &self.query);
            self.hits.extend(found.map(|(from, to)| Hit { place, from, to }));
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn shown(&self) -> usize {
        self.shown.len()
    }

    pub(super) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    pub(super) fn hits(&self) -> usize {
        self.hits.len()
    }

    pub(super) fn hit(&self, number: usize) -> Option<Hit> {
        self.hits.get(number).copied()
    }

    /// The matches in the visible line at a place, each with its number among all matches.
    pub(super) fn hits_at(&self, place: usize) -> Vec<(usize, Hit)> {
        let first = self.hits.partition_point(|hit| hit.place < place);
        let rest = self.hits.iter().enumerate().skip(first);
        rest.take_while(|(_, hit)| hit.place == place).map(|(number, hit)| (number, *hit)).collect()
    }

    /// The first match at or after a place, or else the first match of all.
    pub(super) fn hit_from(&self, place: usize) -> usize {
        let number = self.hits.partition_point(|hit| hit.place < place);
        if number < self.hits.len() { number } else { 0 }
    }

    /// The visible line at a place, and its number in the whole log, from 1.
    pub(super) fn line(&self, place: usize) -> Option<(usize, &LogLine)> {
        let index = *self.shown.get(place)?;
        Some((index + 1, self.lines.get(index)?))
    }

    /// The place of the line with this number; if it is not visible, of the next visible one.
    pub(super) fn place_of(&self, number: usize) -> Option<usize> {
        let index = number.checked_sub(1)?;
        let place = self.shown.partition_point(|shown| *shown < index);
        (place < self.shown.len()).then_some(place)
    }

    /// Number of rows that the visible lines take.
    pub(super) fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The first row of the visible line at a place.
    pub(super) fn row_of(&self, place: usize) -> usize {
        place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    /// The places of the visible lines in rows `from` to `to`.
    pub(super) fn between(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        let first = self.ends.partition_point(|end| *end <= from);
        let last = self.ends.partition_point(|end| *end < to);
        first..(last + 1).min(self.shown.len())
    }

    /// The visible lines, as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (_, line) in (0..self.shown.len()).filter_map(|place| self.line(place)) {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

fn rows(text: &str, columns: Option<usize>) -> usize {
    columns.map_or(1, |columns| text.chars().count().div_ceil(columns.max(1)).max(1))
}

/// The occurrences of a query in a text, ignoring case.
fn occurrences(text: &str, query: &str) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (text, query) = (text.to_ascii_lowercase(), query.to_ascii_lowercase());
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(&query)?;
        from = at + query.len().max(1);
        Some((at, at + query.len()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(task: &str, attempt: i64, stream: &str, text: &str) -> LogEvent {
        let line = json!({
            "task": task, "attempt": attempt, "stream": stream, "text": text, "at": "2026-11-26T06:00:00Z",
        });
        serde_json::from_value(json!({ "cursor": "x", "line": line })).unwrap()
    }

    fn log() -> Log {
        let mut log = Log::default();
        log.push(vec![
            event("fetch", 1, "STDOUT", "Error: none"),
            event("build", 1, "STDERR", "an error, an ERROR"),
            event("build", 2, "STDOUT", "fine"),
        ]);
        log
    }

    fn shown(log: &Log) -> Vec<usize> {
        (0..log.shown()).filter_map(|place| Some(log.line(place)?.0)).collect()
    }

    #[test]
    fn a_filter_keeps_the_numbers_of_the_whole_log() {
        let mut log = log();
        assert!(log.is_mixed());
        log.narrow(Filter { task: "build".to_owned(), ..Filter::default() });
        assert_eq!(shown(&log), [2, 3]);
        log.narrow(Filter { task: "build".to_owned(), attempt: Some(2), stream: None });
        assert_eq!(shown(&log), [3]);
        log.push(vec![event("build", 2, "STDOUT", "more"), event("fetch", 2, "STDOUT", "no")]);
        assert_eq!(shown(&log), [3, 4]);
        log.narrow(Filter { stream: Some(LogStream::Stderr), ..Filter::default() });
        assert_eq!(shown(&log), [2]);
        assert_eq!((log.place_of(1), log.place_of(3)), (Some(0), None));
    }

    #[test]
    fn a_search_finds_every_occurrence_and_follows_the_log() {
        let mut log = log();
        log.search("error");
        assert_eq!(log.hits(), 3);
        assert_eq!(log.hit(0), Some(Hit { place: 0, from: 0, to: 5 }));
        assert_eq!(log.hits_at(1).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((log.hit_from(1), log.hit_from(2)), (1, 0));
        log.push(vec![event("build", 2, "STDOUT", "error again")]);
        assert_eq!(log.hits(), 4);
        log.narrow(Filter { task: "fetch".to_owned(), ..Filter::default() });
        assert_eq!(log.hits(), 1);
        log.search("");
        assert_eq!(log.hits(), 0);
    }

    #[test]
    fn a_letter_of_several_bytes_is_never_cut() {
        let found: Vec<_> = occurrences("é-É-é", "é").collect();
        assert_eq!(found, [(0, 2), (6, 8)]);
    }

    #[test]
    fn a_wrapped_line_takes_as_many_rows_as_it_needs() {
        let mut log = log();
        assert_eq!(log.rows(), 3);
        log.wrap(Some(10));
        assert_eq!([log.rows(), log.row_of(0), log.row_of(1), log.row_of(2)], [5, 0, 2, 4]);
        assert_eq!(log.between(0, 2), 0..1);
        assert_eq!(log.between(1, 3), 0..2);
        assert_eq!(log.between(2, 4), 1..2);
        assert_eq!(log.between(4, 40), 2..3);
    }

    #[test]
    fn the_text_is_what_is_shown_without_colours() {
        let mut log = log();
        log.push(vec![event("build", 2, "STDOUT", "\u{1b}[32mgreen")]);
        log.narrow(Filter { attempt: Some(2), ..Filter::default() });
        assert_eq!(log.text(), "fine\ngreen\n");
        log.clear();
        assert_eq!((log.count(), log.shown(), log.rows()), (0, 0, 0));
    }
}
