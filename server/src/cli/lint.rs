use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use timetable::Warning;

use super::{CliError, lint_files, output, preview::warn, timing::Timing};

/// Explain a timing (or those in module files), and warn about likely mistakes
#[derive(Debug, Args)]
pub(super) struct Lint {
    #[command(flatten)]
    timing: Timing,
    /// Module files to check without a server; unreadable or invalid ones are refused
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["expression", "dialect"])]
    files: Vec<PathBuf>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    /// Exit with 1 if there is a warning
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Serialize)]
struct TimingLint {
    description: String,
    warnings: Vec<Warning>,
}

impl Lint {
    pub(super) fn run(self) -> Result<(), CliError> {
        if !self.files.is_empty() {
            let warnings = lint_files::judge(&self.files, self.json)?;
            return self.end(warnings);
        }
        let (timetable, from) = self.timing.compile()?;
        let linted =
            TimingLint { description: timetable.describe(), warnings: timetable.lint(from) };
        if self.json {
            output::json(&linted)?;
        } else {
            output::line(&linted.description)?;
            linted.warnings.iter().try_for_each(warn)?;
        }
        self.end(linted.warnings.len())
    }

    fn end(&self, warnings: usize) -> Result<(), CliError> {
        match warnings {
            1.. if self.strict => Err(CliError::Warnings(warnings)),
            _ => Ok(()),
        }
    }
}
