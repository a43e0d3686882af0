use clap::Args;
use serde::Serialize;
use timetable::Warning;

use super::{CliError, output, preview::warn, timing::Timing};

/// Say what a timing means, and what about it is likely not meant
#[derive(Debug, Args)]
pub(super) struct Lint {
    #[command(flatten)]
    timing: Timing,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    /// Exit with 1 if there is a warning
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Serialize)]
struct Linted {
    description: String,
    warnings: Vec<Warning>,
}

impl Lint {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (timetable, from) = self.timing.compile()?;
        let linted = Linted { description: timetable.describe(), warnings: timetable.lint(from) };
        if self.json {
            output::json(&linted)?;
        } else {
            output::line(&linted.description)?;
            linted.warnings.iter().try_for_each(warn)?;
        }
        match linted.warnings.len() {
            warnings @ 1.. if self.strict => Err(CliError::Warnings(warnings)),
            _ => Ok(()),
        }
    }
}
