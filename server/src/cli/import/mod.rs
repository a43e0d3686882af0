//! Imports definitions of other schedulers: turns their files into module files, with a report on
//! each entry.
//!
//! Imported entries keep their meaning as far as possible. The report lists the differences, and
//! the entries that cannot be imported, with the reason. No server is involved: a person reads the
//! resulting file and applies it.
//!
//! - `crontab`: crontabs of users and of the system
//! - `kubernetes`: CronJob manifests
//! - `systemd`: timers and their services
//! - `eventbridge`, `dkron`, `cronicle`: JSON exports; `exported`: their shared helpers
//! - `into`: the output of the module and the report
//! - `gathered`: the result, checked as a server would check it; `names`: names for entries
//! - `plain`: texts escaped from templates

mod cronicle;
mod crontab;
mod dkron;
mod eventbridge;
mod exported;
mod gathered;
mod into;
mod kubernetes;
mod names;
mod plain;
mod systemd;

#[cfg(test)]
mod hostile;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use self::into::Into;
use super::{CliError, modules, timing::DialectFlag};

/// Convert another scheduler's definitions to a module file, with a report on each entry
#[derive(Debug, Args)]
pub(super) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Import crontab files
    Crontab(Crontab),
    /// Import Kubernetes CronJob manifests
    Kubernetes(Kubernetes),
    /// Import systemd timers and their services
    Systemd(Systemd),
    /// Import EventBridge Scheduler schedules, as printed by 'aws scheduler get-schedule'
    Eventbridge(ExportedFiles),
    /// Import Dkron jobs, as returned by its API: curl http://HOST:8080/v1/jobs
    Dkron(Dkron),
    /// Import Cronicle events, from the file of 'control.sh export'
    Cronicle(ExportedFiles),
}

/// Import crontab files
#[derive(Debug, Args)]
struct Crontab {
    /// Crontab files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The files have a user in the sixth field, as in /etc/crontab and /etc/cron.d
    #[arg(long, conflicts_with = "user")]
    system: bool,
    /// The files have no user in the sixth field, whatever they look like
    #[arg(long, conflicts_with = "system")]
    no_users: bool,
    /// Owner of the crontab: the commands run as this user [default: the user of the server]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Dialect of the times, if it is not cron's
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<DialectFlag>,
    /// Time zone of the machine that the files come from [default: that of this machine]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    #[command(flatten)]
    into: Into,
}

/// Import Kubernetes CronJob manifests
#[derive(Debug, Args)]
struct Kubernetes {
    /// Manifests of one or more documents; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Time zone of the cluster, for CronJobs that do not name one
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    /// Effect of a fire
    #[arg(long, value_enum, value_name = "WHAT", default_value = "job")]
    target: kubernetes::ImportedRun,
    /// Dialect of 'schedule', if it is not cron's
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<DialectFlag>,
    #[command(flatten)]
    into: Into,
}

/// Import systemd timers and their services
#[derive(Debug, Args)]
struct Systemd {
    /// Folders with units in order of precedence, such as /etc/systemd/system and
    /// /usr/lib/systemd/system, or .timer files whose services are in the same folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Include timers of the folders that are not enabled
    #[arg(long)]
    all: bool,
    /// Time zone of the machine that the units come from [default: that of this machine]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    #[command(flatten)]
    into: Into,
}

/// Import a JSON export
#[derive(Debug, Args)]
struct ExportedFiles {
    /// Exported files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Time zone of entries that do not name one
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    #[command(flatten)]
    into: Into,
}

/// Import Dkron jobs
#[derive(Debug, Args)]
struct Dkron {
    #[command(flatten)]
    exported: ExportedFiles,
    /// Dialect of 'schedule', if it is not cron's
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<DialectFlag>,
}

impl Import {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self.from {
            From::Crontab(order) => order.run(),
            From::Kubernetes(order) => order.run(),
            From::Systemd(order) => order.run(),
            From::Eventbridge(order) => order.run(|gathered, file, source, _| {
                eventbridge::gather(gathered, file, &json(file, source)?);
                Ok(())
            }),
            From::Dkron(Dkron { exported, dialect }) => {
                exported.run(|gathered, file, source, zone| {
                    let dialect = dialect.map(DialectFlag::dialect);
                    dkron::gather(gathered, file, &json(file, source)?, zone, dialect);
                    Ok(())
                })
            }
            From::Cronicle(order) => order.run(|gathered, file, source, zone| {
                cronicle::gather(gathered, file, source, zone);
                Ok(())
            }),
        }
    }
}

impl Crontab {
    fn run(self) -> Result<(), CliError> {
        let zone = zone(self.tz)?;
        let mut gathered = self.into.gathered();
        for file in &self.files {
            let text = modules::text(file, "crontab")?;
            let form = crontab::Form {
                system: (self.system || self.no_users).then_some(self.system),
                dialect: self.dialect.map(DialectFlag::dialect),
                user: self.user.as_deref(),
                zone: &zone,
            };
            crontab::gather(&mut gathered, file, &shown(file), &text, form)
                .map_err(|wrong| wrong_form(&shown(file), form.user, wrong))?;
        }
        self.into.end(gathered)
    }
}

/// Says that a crontab looks like the other form, and which flag settles it.
fn wrong_form(file: &str, user: Option<&str>, wrong: crontab::WrongForm) -> CliError {
    CliError::Usage(match wrong {
        crontab::WrongForm::NamesUsers(why) => {
            let system = match user {
                Some(_) => "give --system in place of --user",
                None => "give --system",
            };
            format!(
                "{file} looks like a crontab of the system, with a user in the sixth field: {why}; \
                 {system} if it is, or --no-users if the sixth field is a program"
            )
        }
        crontab::WrongForm::NamesPrograms(why) => format!(
            "{file} looks like a user's crontab, with a program in the sixth field: {why}; leave \
             --system out if it is, or import it from a folder named cron.d if the sixth field is \
             a user"
        ),
    })
}

impl Kubernetes {
    fn run(self) -> Result<(), CliError> {
        let zone = checked(self.tz)?;
        let mut gathered = self.into.gathered();
        let dialect = self.dialect.map(DialectFlag::dialect);
        for file in &self.files {
            let text = modules::text(file, "manifest")?;
            let cluster = kubernetes::ClusterFacts { zone: &zone, runs: self.target, dialect };
            kubernetes::gather(&mut gathered, &shown(file), &text, cluster);
        }
        self.into.end(gathered)
    }
}

impl Systemd {
    fn run(self) -> Result<(), CliError> {
        let zone = zone(self.tz)?;
        let mut gathered = self.into.gathered();
        systemd::gather(&mut gathered, &self.paths, &zone, self.all)?;
        self.into.end(gathered)
    }
}

impl ExportedFiles {
    fn run(
        self,
        take: impl Fn(&mut gathered::Gathered, &str, &str, &str) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let zone = checked(self.tz)?;
        let mut gathered = self.into.gathered();
        for file in &self.files {
            let source = modules::text(file, "export")?;
            take(&mut gathered, &shown(file), &source, &zone)?;
        }
        self.into.end(gathered)
    }
}

/// Parses a file as JSON. serde_json refuses nesting deeper than 128.
fn json(file: &str, source: &str) -> Result<Value, CliError> {
    serde_json::from_str(source)
        .map_err(|error| CliError::Usage(format!("{file} is not JSON: {error}")))
}

/// The given zone, or else this machine's, or UTC if that is unknown.
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
