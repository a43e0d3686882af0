//! Namespaces, on the database that the configuration names.

mod quotas;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, flags::Existing, offline::Office, output, why::Why};
use crate::{
    commands::Call,
    model::OwnQuotas,
    store::{Window, namespaces},
};

/// Manage the namespaces
#[derive(Debug, Args)]
pub(super) struct Namespace {
    #[command(flatten)]
    place: Existing,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a namespace
    Create {
        /// Unique
        name: String,
        #[command(flatten)]
        why: Why,
    },
    /// Give a namespace another name; whoever asks for it by the old one finds none
    Rename {
        /// Which
        name: String,
        /// Its name from now on
        new_name: String,
        #[command(flatten)]
        why: Why,
    },
    /// Show what a namespace may use and what it uses, or set it: what is given; with --reset all
    /// else is as the server is configured
    Quotas {
        /// Which
        name: String,
        /// How many schedules it may have; 0 is without a limit
        #[arg(long, value_name = "COUNT")]
        schedules: Option<i64>,
        /// How many fires a minute; 0 is without a limit
        #[arg(long, value_name = "COUNT")]
        fires_a_minute: Option<i64>,
        /// How many runs at work at the same time; 0 is without a limit
        #[arg(long, value_name = "COUNT")]
        live_runs: Option<i64>,
        /// How many bytes of log lines a day; 0 is without a limit
        #[arg(long, value_name = "BYTES")]
        log_bytes_a_day: Option<i64>,
        /// Forget what was set before
        #[arg(long)]
        reset: bool,
        #[command(flatten)]
        why: Why,
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the namespaces
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
}

/// So many are read at once.
const BATCH: u64 = 500;

impl Namespace {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let office = Office::open(&self.place).await?;
        match self.action {
            Action::Create { name, why } => {
                let owner = why.somebody_here().owner()?;
                let commands = office.commands()?;
                commands.create_namespace(&owner, &name, None, &Call::once()).await?;
                output::line(format!("made the namespace '{name}'"))
            }
            Action::Rename { name, new_name, why } => {
                let (owner, names) = (why.somebody_here().owner()?, (&*name, &*new_name));
                let commands = office.commands()?;
                commands.rename_namespace(&owner, names, None, &Call::once()).await?;
                output::line(format!("'{name}' is '{new_name}' now"))
            }
            Action::Quotas {
                name,
                schedules,
                fires_a_minute,
                live_runs,
                log_bytes_a_day,
                reset,
                why,
                json,
            } => {
                let given = OwnQuotas { schedules, fires_a_minute, live_runs, log_bytes_a_day };
                quotas::show_or_set(&office, &name, given, reset, why, json).await
            }
            Action::List { json } => list(&office, json).await,
        }
    }
}

async fn list(office: &Office, as_json: bool) -> Result<(), CliError> {
    let mut rows = Vec::new();
    loop {
        let after = rows.last().map(|row: &entity::namespace::Model| row.id);
        let window = Window { after, ..Window::first(BATCH) };
        let page = namespaces::page(office.store.read(), None, &window).await?;
        rows.extend(page.rows);
        if !page.has_next {
            break;
        }
    }
    if as_json {
        let shown = rows.iter().map(|row| {
            let made = row.created_at.utc();
            json!({ "name": row.name, "retention_days": row.retention_days, "created_at": made })
        });
        return output::json(&shown.collect::<Vec<_>>());
    }
    let rows: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let days = row.retention_days.map_or("-".to_owned(), |days| days.to_string());
            [row.name.clone(), row.created_at.utc().to_rfc3339(), days]
        })
        .collect();
    output::table(["NAMESPACE", "MADE", "KEEPS DAYS"], &rows)
}
