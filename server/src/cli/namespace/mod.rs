//! Namespaces, in the configured database.

mod quotas;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, flags::Existing, offline::Office, output, why::Why};
use crate::{
    commands::Call,
    store::{PageWindow, namespaces},
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
    /// Create a namespace
    Create {
        /// Unique name
        name: String,
        #[command(flatten)]
        why: Why,
    },
    /// Rename a namespace; it can no longer be found under its old name
    Rename {
        /// The namespace
        name: String,
        /// The namespace's new name
        new_name: String,
        #[command(flatten)]
        why: Why,
    },
    /// Show a namespace's quotas and usage, or set the given quotas; with --reset, all others use
    /// the server's configuration
    Quotas {
        /// The namespace
        name: String,
        #[command(flatten)]
        quotas: quotas::Given,
        /// Discard the quotas that were set before
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

/// Number of namespaces read at once.
const BATCH: u64 = 500;

impl Namespace {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let office = Office::open(&self.place).await?;
        match self.action {
            Action::Create { name, why } => {
                let owner = why.local_operator().owner()?;
                let commands = office.commands()?;
                commands.create_namespace(&owner, &name, None, &Call::once()).await?;
                output::line(format!("created the namespace '{name}'"))
            }
            Action::Rename { name, new_name, why } => {
                let owner = why.local_operator().owner()?;
                let commands = office.commands()?;
                commands.rename_namespace(&owner, &name, &new_name, None, &Call::once()).await?;
                output::line(format!("'{name}' is '{new_name}' now"))
            }
            Action::Quotas { name, quotas, reset, why, json } => {
                quotas::show_or_set(&office, &name, quotas.into(), reset, why, json).await
            }
            Action::List { json } => list(&office, json).await,
        }
    }
}

async fn list(office: &Office, as_json: bool) -> Result<(), CliError> {
    let mut rows = Vec::new();
    loop {
        let after = rows.last().map(|row: &entity::namespace::Model| row.id);
        let window = PageWindow { after, ..PageWindow::first(BATCH) };
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
