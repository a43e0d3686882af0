//! Batch mode: one answer line per input line, in order, as they arrive. A line that cannot be
//! answered gets an error, and reading continues, so that one mistake in a file of thousands does
//! not cost the rest.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use timetable::{DstPolicy, Timetable};

use super::{MAX, fires::PreviewFire};
use crate::cli::{
    CliError,
    timing::{Defaults, definition, read_instant, translated},
};

/// A question. Omitted values come from the flags. A `from` without an offset, in the question or
/// in the flag, is read in the question's zone. Unknown keys are refused, because a misspelt one
/// would silently change the answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    expr: String,
    tz: Option<String>,
    from: Option<String>,
    count: Option<u64>,
    dst_gap: Option<timetable::Gap>,
    dst_overlap: Option<timetable::Overlap>,
}

/// The fires, or the reason for their absence. A well-formed timing that never matches any date has
/// both: an error, and an empty list of fires.
#[derive(Debug, Default, Serialize)]
struct BatchAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    fires: Option<Vec<PreviewFire>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl BatchAnswer {
    fn refused(error: String) -> Self {
        Self { error: Some(error), fires: None }
    }
}

/// Answers each line of a file or of standard input.
pub(super) fn answer(file: &str, defaults: &Defaults<'_>, count: usize) -> Result<(), CliError> {
    let questions: Box<dyn BufRead> = if file == "-" {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|error| {
            CliError::Usage(format!("--batch '{file}' cannot be read: {error}; give a file or -"))
        })?;
        Box::new(BufReader::new(opened))
    };
    // Each line is flushed, because an interactive caller waits for the answer.
    let mut answers = io::stdout().lock();
    for line in questions.split(b'\n') {
        let line = line.map_err(CliError::io("read the batch"))?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = answer_line(&line, defaults, count).unwrap_or_else(BatchAnswer::refused);
        let mut text = serde_json::to_vec(&answer)
            .map_err(io::Error::from)
            .map_err(CliError::io("write JSON"))?;
        text.push(b'\n');
        answers.write_all(&text).map_err(CliError::io("write to standard output"))?;
    }
    Ok(())
}

fn answer_line(line: &[u8], defaults: &Defaults<'_>, count: usize) -> Result<BatchAnswer, String> {
    let question: Question = serde_json::from_slice(line)
        .map_err(|error| format!("not a question: {error}; give {{\"expr\": ..., \"tz\": ...}}"))?;
    let tz = question.tz.as_deref().unwrap_or(defaults.tz);
    let from = match &question.from {
        Some(text) => read_instant(text, tz, defaults.now)
            .map_err(|problem| format!("from {text:?}: {problem}"))?,
        None => defaults.start_in(tz).map_err(|problem| format!("--from {problem}"))?,
    };
    let count = match question.count {
        None => count,
        Some(count) => usize::try_from(count)
            .ok()
            .filter(|count| *count <= MAX)
            .ok_or_else(|| format!("count {count}: give a whole number up to {MAX}"))?,
    };
    let dst = DstPolicy {
        gap: question.dst_gap.unwrap_or(defaults.dst.gap),
        overlap: question.dst_overlap.unwrap_or(defaults.dst.overlap),
    };
    let expression = translated(&question.expr, defaults.dialect)?;
    let definition = definition(&[expression], tz, from, dst);
    let timetable = match Timetable::new(&definition) {
        Ok(timetable) => timetable,
        Err(error) => {
            let fires = error.never_fires.then(Vec::new);
            return Ok(BatchAnswer { fires, error: Some(error.to_string()) });
        }
    };
    let fires = timetable.fires(from, DateTime::<Utc>::MAX_UTC).take(count);
    Ok(BatchAnswer { fires: Some(fires.map(PreviewFire::from).collect()), error: None })
}
