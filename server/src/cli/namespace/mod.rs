//! Namespaces, in the configured database.

mod quotas;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    CliError,
    flags::Existing,
    offline::{Office, local_operator},
    output,
    why::Why,
};
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
    /// Delete a namespace with its schedules; for 7 days, undelete restores it
    Delete {
        /// The namespace
        name: String,
        /// The number of schedules that are deleted with it, if it has any
        #[arg(long, value_name = "NUMBER")]
        schedules: Option<i64>,
        /// Reason, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Restore the namespace of this name that was deleted last; its schedules are paused
    Undelete {
        /// The name that it had
        name: String,
        /// Another name, if that one is taken
        #[arg(long, value_name = "NAME")]
        rename: Option<String>,
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
            Action::Delete { name, schedules, reason } => {
                let owner = local_operator().owner()?;
                let (commands, call) = (office.commands()?, Call::once());
                commands.delete_namespace(&owner, &name, schedules, &reason, &call).await?;
                output::line(format!("deleted the namespace '{name}'; undelete restores it"))
            }
            Action::Undelete { name, rename, why } => {
                let owner = why.local_operator().owner()?;
                let (commands, call) = (office.commands()?, Call::once());
                let rename = rename.as_deref();
                commands.undelete_namespace(&owner, &name, rename, None, &call).await?;
                let back = rename.unwrap_or(&name);
                output::line(format!("restored the namespace '{back}'; its schedules are paused"))
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
    output::table(["NAMESPACE", "CREATED", "RETENTION DAYS"], &rows)
}
