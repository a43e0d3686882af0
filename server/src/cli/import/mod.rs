//! Bringing along what other schedulers run: module files made of theirs, with a report of each
//! entry.
//!
//! Whatever is imported keeps its meaning as far as the two allow; where they do not, the report
//! says what is otherwise, and what cannot be brought along, it says with the reason. Nothing is
//! asked of a server: the file that comes out is read by a person and applied.
//!
//! - `crontab`: of users and of the system
//! - `kubernetes`: CronJob manifests
//! - `systemd`: timers and their services; `on_calendar`: their expressions
//! - `gathered`: what was found, checked as a server would check it; `names`: what it is called
//! - `plain`: texts that must not be taken for templates

mod crontab;
mod gathered;
mod kubernetes;
mod names;
mod plain;
mod systemd;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use self::gathered::Gathered;
use super::{CliError, modules, output};
use crate::engine::commands::Format;

/// Make a module file of what another scheduler runs, and say what becomes of each entry
#[derive(Debug, Args)]
pub(super) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Of crontab files
    Crontab(Crontab),
    /// Of Kubernetes CronJob manifests
    Kubernetes(Kubernetes),
    /// Of systemd timers and their services
    Systemd(Systemd),
}

/// Of crontab files
#[derive(Debug, Args)]
struct Crontab {
    /// Crontab files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The files have a user in the sixth field, as /etc/crontab and /etc/cron.d have
    #[arg(long, conflicts_with = "user")]
    system: bool,
    /// Whose crontab it is: the commands run as that user [default: whoever the server runs as]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The zone of the machine that the files come from [default: that of this machine]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    #[command(flatten)]
    into: Into,
}

/// Of Kubernetes CronJob manifests
#[derive(Debug, Args)]
struct Kubernetes {
    /// Manifests, of one or several documents; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The zone of the cluster, for what names none
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    #[command(flatten)]
    into: Into,
}

/// Of systemd timers and their services
#[derive(Debug, Args)]
struct Systemd {
    /// Folders with units, or .timer files; the services stand beside them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The zone of the machine that the units come from [default: that of this machine]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    #[command(flatten)]
    into: Into,
}

/// Where what comes out goes.
#[derive(Debug, Args)]
struct Into {
    /// What the module is called
    #[arg(long, value_name = "NAME", default_value = "imported")]
    module: String,
    /// The namespace that it is for
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Write the module here; the report goes to standard output [default: the module goes to
    /// standard output, the report to standard error]
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,
    /// Only report
    #[arg(long)]
    dry_run: bool,
    /// The report as JSON
    #[arg(long)]
    json: bool,
    /// Exit with 3 unless every entry keeps its meaning
    #[arg(long)]
    strict: bool,
}

impl Import {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self.from {
            From::Crontab(order) => order.run(),
            From::Kubernetes(order) => order.run(),
            From::Systemd(order) => order.run(),
        }
    }
}

impl Crontab {
    fn run(self) -> Result<(), CliError> {
        let zone = zone(self.tz)?;
        let mut gathered = self.into.gathered();
        for file in &self.files {
            let text = modules::text(file, "crontab")?;
            let form =
                crontab::Form { system: self.system, user: self.user.as_deref(), zone: &zone };
            crontab::gather(&mut gathered, &shown(file), &text, form);
        }
        self.into.end(gathered)
    }
}

impl Kubernetes {
    fn run(self) -> Result<(), CliError> {
        let zone = checked(self.tz)?;
        let mut gathered = self.into.gathered();
        for file in &self.files {
            let text = modules::text(file, "manifest")?;
            kubernetes::gather(&mut gathered, &shown(file), &text, &zone);
        }
        self.into.end(gathered)
    }
}

impl Systemd {
    fn run(self) -> Result<(), CliError> {
        let zone = zone(self.tz)?;
        let mut gathered = self.into.gathered();
        for path in &self.paths {
            systemd::gather(&mut gathered, path, &zone)?;
        }
        self.into.end(gathered)
    }
}

impl Into {
    fn gathered(&self) -> Gathered {
        Gathered::new(&self.module, &self.namespace)
    }

    fn end(&self, gathered: Gathered) -> Result<(), CliError> {
        let format = match &self.output {
            Some(path) => modules::format_of(path),
            None => Format::Yaml,
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
            eprint!("{report}");
        }
        if self.strict && !gathered.all_keep_their_meaning() {
            return Err(CliError::Differs);
        }
        Ok(())
    }
}

/// The zone that is given, or that of this machine; UTC where that cannot be told.
fn zone(given: Option<String>) -> Result<String, CliError> {
    if let Some(given) = given {
        return checked(given);
    }
    let link = std::fs::read_link("/etc/localtime").unwrap_or_default();
    let name = link.to_str().and_then(|path| path.split_once("zoneinfo/")).map(|(_, name)| name);
    let name = name.unwrap_or("UTC").to_owned();
    Ok(checked(name).unwrap_or_else(|_| "UTC".to_owned()))
}

fn checked(zone: String) -> Result<String, CliError> {
    match gathered::check_zone(&zone) {
        Ok(()) => Ok(zone),
        Err(problem) => Err(CliError::Usage(format!("--tz '{zone}': {problem}"))),
    }
}

fn shown(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() }
}
