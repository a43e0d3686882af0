//! Checks module files without a server, for editors, commits and pipelines.

use std::path::{Path, PathBuf};

use serde::Serialize;
use timetable::Warning;

use super::{CliError, modules::ModuleFile, output};
use crate::{clock::Clock, commands::modules::file::File};

/// The result for one schedule of a file.
#[derive(Debug, Serialize)]
struct FileLint<'a> {
    file: &'a Path,
    schedule: String,
    description: String,
    warnings: Vec<Warning>,
}

/// Checks every file; returns the number of warnings. Stops at the first invalid file.
pub(super) fn judge(files: &[PathBuf], as_json: bool) -> Result<usize, CliError> {
    let now = Clock::system().now();
    let mut all = Vec::new();
    for path in files {
        let read = ModuleFile::read(path)?;
        let linted = File::read(&read.text, read.format).and_then(|file| file.lint(now));
        let refused = |bad| CliError::Usage(format!("{}: {bad}", path.display()));
        all.extend(linted.map_err(refused)?.into_iter().map(|schedule| FileLint {
            file: path,
            schedule: schedule.name,
            description: schedule.description,
            warnings: schedule.warnings,
        }));
    }
    if as_json {
        output::json(&all)?;
    } else {
        all.iter().try_for_each(say)?;
    }
    Ok(all.iter().map(|linted| linted.warnings.len()).sum())
}

fn say(linted: &FileLint<'_>) -> Result<(), CliError> {
    let place = format!("{}: {}", linted.file.display(), linted.schedule);
    output::line(format!("{place}: {}", linted.description))?;
    linted.warnings.iter().try_for_each(|warning| {
        let suggestion = warning.suggestion.as_ref();
        let suggestion = suggestion.map_or(String::new(), |text| format!("; write '{text}'"));
        output::line(format!("{place}: warning: {}{suggestion}", warning.message))
    })
}
