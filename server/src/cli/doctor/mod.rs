//! Checks for problems that would keep a server from starting on this machine, or from running
//! well, and suggests fixes.
//!
//! The doctor changes nothing: it creates no files, applies no migrations, and does not join the
//! cluster.
//!
//! - `finding`: the result of a check
//! - `database`: the database, its schema, people and nodes
//! - `channels`: whether alerts would reach people
//! - `keys`: the keys of secrets, and who may read their files
//! - `place`: files, folders, the disk
//! - `machine`: zone data, open files, the privileges of commands
//! - `network`: the port, browser access, Redis, the collector
//! - `services`: the identity provider, the mail server

mod channels;
mod database;
mod finding;
mod keys;
mod machine;
mod network;
mod place;
mod services;

use clap::Args;
use finding::{Finding, Level};
use serde_json::json;

use super::{CliError, flags::ServerSettings, output};
use crate::{clock::Clock, config::Config};

/// Check the configuration, the database, this machine and the network, and suggest fixes
///
/// Takes the flags of 'serve'. Exits with 1 if a check finds an error; warnings are not errors.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    settings: ServerSettings,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let clock = Clock::system();
        let mut found = vec![machine::zone_data(&timetable::zone_data(), clock.now())];
        let file = self.settings.place.file();
        match self.settings.config() {
            Ok(config) => {
                found.push(configuration(file.as_deref()));
                found.extend(file.iter().filter_map(|file| place::configuration(file)));
                examine(&config, &clock, &mut found).await;
            }
            Err(error) => {
                let help = "correct it; docs/configuration.md has every setting. Checks that depend \
                            on it were left out";
                let text = error.to_string();
                let text = text.trim_start_matches("failed to ").to_owned();
                found.push(Finding::error("configuration", format!("cannot {text}"), help));
            }
        }
        let errors = found.iter().filter(|finding| finding.level == Level::Error).count();
        if self.json {
            as_json(&found)?
        } else {
            print(&found)?
        }
        if errors == 0 { Ok(()) } else { Err(CliError::Unwell(errors, found.len())) }
    }
}

/// What is wrong with a configuration file that contains secrets and that every user of the machine
/// may read, and the remedy.
pub(super) fn open_configuration(file: &std::path::Path) -> Option<(String, String)> {
    let finding = place::configuration(file)?;
    Some((finding.found, finding.help.unwrap_or_default()))
}

fn configuration(file: Option<&std::path::Path>) -> Finding {
    let from = match file {
        Some(file) => format!("'{}' and the environment are good", file.display()),
        None => "there is no file, and the environment is good".to_owned(),
    };
    Finding::ok("configuration", from)
}

async fn examine(config: &Config, clock: &Clock, found: &mut Vec<Finding>) {
    found.extend(place::data(config));
    found.extend(database::examine(config, clock).await);
    found.extend(keys::files(config));
    found.push(network::port(config).await);
    found.push(network::browsers(config));
    found.push(network::instruments(config));
    found.extend(network::redis(config, clock).await);
    found.extend(network::collector(config, clock).await);
    found.extend(services::identity(config, clock).await);
    found.extend(services::mails(config).await);
    found.push(machine::commands(config));
    found.push(machine::open_files(config));
}

fn as_json(found: &[Finding]) -> Result<(), CliError> {
    let count = |level| found.iter().filter(|finding| finding.level == level).count();
    let checks = found.iter().map(|finding| {
        json!({
            "check": finding.check,
            "level": finding.level.word(),
            "found": finding.found,
            "help": finding.help,
        })
    });
    output::json(&json!({
        "errors": count(Level::Error),
        "warnings": count(Level::Warning),
        "checks": checks.collect::<Vec<_>>(),
    }))
}

fn print(found: &[Finding]) -> Result<(), CliError> {
    for finding in found {
        let Finding { check, level, found, help } = finding;
        output::line(format!("{:<8} {check:<16} {found}", level.word()))?;
        if let Some(help) = help {
            output::line(format!("{:26}-> {help}", ""))?;
        }
    }
    Ok(())
}
