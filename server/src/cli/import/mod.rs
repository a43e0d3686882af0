//! Bringing along what other schedulers run: module files made of theirs, with a report of each
//! entry.
//!
//! What is imported keeps its meaning as far as the two allow; where they do not, the report says
//! what is otherwise, and what cannot be brought along, it says with the reason. Nothing is asked of
//! a server: the file that comes out is read by a person and applied.
//!
//! - `crontab`: of users and of the system
//! - `kubernetes`: CronJob manifests
//! - `systemd`: timers and their services
//! - `eventbridge`, `dkron`, `cronicle`: exports in JSON; `exported`: what these share
//! - `into`: where the module and the report go
//! - `gathered`: what was found, checked as a server would check it; `names`: what it is called
//! - `plain`: texts that must not be taken for templates

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
    /// Of schedules of EventBridge Scheduler, as 'aws scheduler get-schedule' prints them
    Eventbridge(Exported),
    /// Of jobs of Dkron, as its API gives them: curl http://HOST:8080/v1/jobs
    Dkron(Dkron),
    /// Of events of Cronicle, from the file of 'control.sh export'
    Cronicle(Exported),
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
    /// The files have no user in the sixth field, whatever they look like
    #[arg(long, conflicts_with = "system")]
    no_users: bool,
    /// Whose crontab it is: the commands run as that user [default: the user of the server]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// How the times are written, if it is not cron's way
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<DialectFlag>,
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
    /// What a fire does
    #[arg(long, value_enum, value_name = "WHAT", default_value = "job")]
    target: kubernetes::Runs,
    /// How 'schedule' is written, if it is not cron's way
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<DialectFlag>,
    #[command(flatten)]
    into: Into,
}

/// Of systemd timers and their services
#[derive(Debug, Args)]
struct Systemd {
    /// Folders with units in their order, such as /etc/systemd/system and /usr/lib/systemd/system,
    /// or .timer files; the services stand in the same folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Timers of the folders that are not enabled, too
    #[arg(long)]
    all: bool,
    /// The zone of the machine that the units come from [default: that of this machine]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    #[command(flatten)]
    into: Into,
}

/// Of an export in JSON
#[derive(Debug, Args)]
struct Exported {
    /// Files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The zone of what names none
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    #[command(flatten)]
    into: Into,
}

/// Of jobs of Dkron
#[derive(Debug, Args)]
struct Dkron {
    #[command(flatten)]
    exported: Exported,
    /// How 'schedule' is written, if it is not cron's way
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
            crontab::gather(&mut gathered, file, &shown(file), &text, form).map_err(|why| {
                CliError::Usage(format!(
                    "{} looks like a crontab of the system, with a user in the sixth field: {}; \
                     give --system if it is, or --no-users if the sixth field is a program",
                    shown(file),
                    why.0
                ))
            })?;
        }
        self.into.end(gathered)
    }
}

impl Kubernetes {
    fn run(self) -> Result<(), CliError> {
        let zone = checked(self.tz)?;
        let mut gathered = self.into.gathered();
        let dialect = self.dialect.map(DialectFlag::dialect);
        for file in &self.files {
            let text = modules::text(file, "manifest")?;
            let cluster = kubernetes::Cluster { zone: &zone, runs: self.target, dialect };
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

impl Exported {
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

/// The JSON of a file. serde_json refuses what is nested deeper than 128.
fn json(file: &str, source: &str) -> Result<Value, CliError> {
    serde_json::from_str(source)
        .map_err(|error| CliError::Usage(format!("{file} is no JSON: {error}")))
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
