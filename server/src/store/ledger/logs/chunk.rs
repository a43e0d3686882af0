//! Packs several log lines into one row.
//!
//! The texts of the lines are joined by line feeds.
//! The stream and time of each line are stored separately, as runs of equal values:
//! `o0*3,e12*1` means three lines on standard output, and one on standard error 12 ms later.

use std::fmt::Write;

use entity::{
    Timestamp,
    task_log::{Model, Stream},
};
use uuid::Uuid;

/// Maximum number of bytes of text per row. A single line may be longer.
const MAX_BYTES: usize = 32 * 1024;

/// Maximum number of lines per row.
const MAX_LINES: usize = 4_096;

/// A row of the log that is to be written.
#[derive(Clone, Debug)]
pub struct NewChunk {
    /// The key of the run.
    pub run_id: Uuid,
    /// The number of the last line of the row in the run's log.
    pub seq: i64,
    /// The task that printed the lines.
    pub task: String,
    /// The attempt that printed the lines.
    pub attempt: i32,
    /// When the first line was read.
    pub at: Timestamp,
    /// Where the first line came from.
    pub stream: Stream,
    /// The texts of the lines, separated by line feeds.
    pub text: String,
    /// The stream and time of each line, if there are several lines.
    pub lines: Option<String>,
}

/// Lines of one attempt that will form one row.
#[derive(Debug, Default)]
pub struct Chunk {
    text: String,
    runs: Vec<LineRun>,
    count: usize,
}

/// Consecutive lines with the same stream and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineRun {
    stream: Stream,
    at: Timestamp,
    count: usize,
}

impl Chunk {
    /// Whether the chunk has no lines.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of lines in the chunk.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether a line of this many bytes fits. An empty chunk takes any line.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.is_empty() || (self.count < MAX_LINES && self.text.len() + 1 + bytes <= MAX_BYTES)
    }

    /// Adds a line. A text with line feeds is added as several lines.
    pub fn push(&mut self, at: Timestamp, stream: Stream, text: &str) {
        for line in text.split('\n') {
            if !self.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(line);
            self.count += 1;
            match self.runs.last_mut() {
                Some(run) if (run.at, run.stream) == (at, stream) => run.count += 1,
                Some(_) | None => self.runs.push(LineRun { stream, at, count: 1 }),
            }
        }
    }

    /// The row, whose last line has the number `seq`; `None` if the chunk has no lines.
    pub fn row(self, run_id: Uuid, seq: i64, task: &str, attempt: i32) -> Option<NewChunk> {
        let LineRun { stream, at, .. } = *self.runs.first()?;
        let lines = (self.count > 1).then(|| written(&self.runs));
        let (text, task) = (self.text, task.to_owned());
        Some(NewChunk { run_id, seq, task, attempt, at, stream, text, lines })
    }
}

fn written(runs: &[LineRun]) -> String {
    let (mut text, mut before) = (String::new(), runs.first().map_or(0, |run| run.at.0));
    for run in runs {
        let stream = match run.stream {
            Stream::Stdout => 'o',
            Stream::Stderr => 'e',
            Stream::System => 's',
        };
        let comma = if text.is_empty() { "" } else { "," };
        let later = run.at.0.saturating_sub(before);
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{stream}{later}*{}", run.count);
        before = run.at.0;
    }
    text
}

fn read(text: &str, first: Timestamp) -> Option<Vec<LineRun>> {
    let mut at = first.0;
    let run = |text: &str| {
        let (later, count) = text.get(1..)?.split_once('*')?;
        at = at.checked_add(later.parse().ok()?)?;
        let stream = match text.as_bytes().first()? {
            b'o' => Stream::Stdout,
            b'e' => Stream::Stderr,
            b's' => Stream::System,
            _ => return None,
        };
        Some(LineRun { stream, at: Timestamp(at), count: count.parse().ok()? })
    };
    text.split(',').map(run).collect()
}

/// The lines of a row. A row in an unknown format is shown as one line.
pub(super) fn lines_of(row: Model) -> Box<dyn Iterator<Item = Model> + Send> {
    let runs = row.lines.as_deref().and_then(|lines| read(lines, row.at)).unwrap_or_default();
    let count = row.text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let told = runs.iter().try_fold(0_usize, |sum, run| sum.checked_add(run.count));
    let Some(before) = i64::try_from(count).ok().filter(|_| told == Some(count)) else {
        return Box::new(std::iter::once(Model { lines: None, ..row }));
    };
    let first = row.seq.saturating_sub(before);
    let Model { run_id, task, attempt, text, .. } = row;
    let each = runs.into_iter().flat_map(|run| std::iter::repeat_n(run, run.count));
    let texts: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let line = move |(number, (run, text)): (i64, (LineRun, String))| Model {
        run_id,
        seq: first.saturating_add(number),
        task: task.clone(),
        attempt,
        at: run.at,
        stream: run.stream,
        text,
        lines: None,
    };
    Box::new((1..).zip(each.zip(texts)).map(line))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn model(new: NewChunk) -> Model {
        let NewChunk { run_id, seq, task, attempt, at, stream, text, lines } = new;
        Model { run_id, seq, task, attempt, at, stream, text, lines }
    }

    fn any_stream() -> impl Strategy<Value = Stream> {
        prop_oneof![Just(Stream::Stdout), Just(Stream::Stderr), Just(Stream::System)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn lines_come_out_as_they_went_in(
            lines in vec((-5_i64..5, any_stream(), "[^\n\0]{0,6}"), 1..40),
        ) {
            let mut chunk = Chunk::default();
            for (at, stream, text) in &lines {
                chunk.push(Timestamp(1_000_000 + at), *stream, text);
            }
            let row = model(chunk.row(Uuid::nil(), 100, "main", 2).unwrap());
            let back: Vec<Model> = lines_of(row).collect();
            prop_assert_eq!(back.len(), lines.len());
            for (index, (line, (at, stream, text))) in back.iter().zip(&lines).enumerate() {
                prop_assert_eq!(&line.text, text);
                prop_assert_eq!((line.at.0, line.stream), (1_000_000 + at, *stream));
                prop_assert_eq!(line.seq, 100 - (lines.len() - 1 - index) as i64);
            }
        }

        #[test]
        fn a_row_with_a_wrong_description_is_read_as_one_line(told in "[oes0-9*,-]{0,24}") {
            let mut chunk = Chunk::default();
            chunk.push(Timestamp(7), Stream::Stdout, "one\ntwo\nthree");
            let mut row = model(chunk.row(Uuid::nil(), 9, "main", 1).unwrap());
            row.lines = Some(told);
            let count = lines_of(row).count();
            prop_assert!(count == 1 || count == 3);
        }
    }

    #[test]
    fn a_chunk_is_bounded_in_lines_and_bytes() {
        let mut chunk = Chunk::default();
        assert!(chunk.has_room(1_000_000));
        while chunk.has_room(1) {
            chunk.push(Timestamp(1), Stream::Stdout, "x");
        }
        assert_eq!(chunk.len(), MAX_LINES);
        let row = chunk.row(Uuid::nil(), 1, "main", 1).unwrap();
        assert_eq!(row.lines.as_deref(), Some("o0*4096"));
        let mut chunk = Chunk::default();
        chunk.push(Timestamp(1), Stream::Stdout, &"x".repeat(MAX_BYTES - 11));
        assert!(chunk.has_room(10) && !chunk.has_room(11));
    }

    #[test]
    fn one_line_is_a_row_as_it_was_before() {
        let mut chunk = Chunk::default();
        chunk.push(Timestamp(5), Stream::Stderr, "alone");
        let row = chunk.row(Uuid::nil(), 3, "main", 1).unwrap();
        assert_eq!((row.lines, &*row.text, row.seq), (None, "alone", 3));
    }
}
