//! `carillon preview`: when a timing fires, computed by the same calculator as everywhere else.
//!
//! - `fires`: a fire as JSON and as a line of text
//! - `batch`: many questions, one per line

mod batch;
mod fires;

use chrono::{DateTime, Utc};
use clap::Args;
pub(super) use fires::warn;
use fires::{PreviewFire, Printed};

use super::{CliError, output, timing::Timing};

/// Maximum number of fires shown for one timing.
const MAX: usize = 10_000;

/// Show the next fires of a timing
#[derive(Debug, Args)]
pub(super) struct Preview {
    #[command(flatten)]
    timing: Timing,
    /// Number of fires, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count)]
    count: usize,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    /// Batch mode: read {"expr","tz","from","count","dst_gap","dst_overlap"} lines from a file, or
    /// from standard input if it is -; the flags apply to lines that omit a value, and a time
    /// without an offset is in the line's zone
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expression", "json"])]
    batch: Option<String>,
}

impl Preview {
    pub(super) fn run(self) -> Result<(), CliError> {
        if let Some(file) = &self.batch {
            return batch::answer(file, &self.timing.defaults(), self.count);
        }
        let (timetable, from) = self.timing.compile()?;
        let fires: Vec<PreviewFire> = timetable
            .fires(from, DateTime::<Utc>::MAX_UTC)
            .take(self.count)
            .map(PreviewFire::from)
            .collect();
        let mut warnings = timetable.lint(from);
        warnings.extend(timetable.example());
        let printed = Printed { description: timetable.describe(), fires, warnings };
        if self.json { output::json(&printed) } else { printed.print() }
    }
}

fn count(text: &str) -> Result<usize, String> {
    let help = || format!("give a whole number from 1 to {MAX}");
    text.parse().ok().filter(|count| (1..=MAX).contains(count)).ok_or_else(help)
}
