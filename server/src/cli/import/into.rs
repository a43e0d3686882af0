use std::path::PathBuf;

use clap::Args;

use super::gathered::Gathered;
use crate::{
    cli::{CliError, modules, output},
    commands::FileFormat,
};

/// The destination of an import.
#[derive(Debug, Args)]
pub(super) struct Into {
    /// Name of the module
    #[arg(long, value_name = "NAME", default_value = "imported")]
    module: String,
    /// Namespace of the module
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Write the module to this file; the report goes to standard output [default: the module goes
    /// to standard output, the report to standard error]
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,
    /// Only print the report
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Exit with 3 unless every entry keeps its meaning
    #[arg(long)]
    strict: bool,
}

impl Into {
    pub(super) fn gathered(&self) -> Gathered {
        Gathered::new(&self.module, &self.namespace)
    }

    pub(super) fn end(&self, gathered: Gathered) -> Result<(), CliError> {
        let format = match &self.output {
            Some(path) => modules::format_of(path),
            None => FileFormat::Yaml,
        };
        if !self.dry_run {
            let source = gathered.source(format)?;
            match &self.output {
                Some(path) => modules::write(path, &source)?,
                None => output::text(&source)?,
            }
        }
        let report = if self.json { gathered.json() } else { gathered.words() };
        if self.dry_run || self.output.is_some() {
            output::text(&report)?;
        } else {
            output::aside(report.trim_end());
        }
        if self.strict && !gathered.all_keep_their_meaning() {
            return Err(CliError::Differs);
        }
        Ok(())
    }
}
