//! Namespaces, on the database that the configuration names.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, flags::Place, offline::Office, output, why::Why};
use crate::{
    engine::commands::Call,
    store::{Window, namespaces},
};

/// Manage the namespaces
#[derive(Debug, Args)]
pub(super) struct Namespace {
    #[command(flatten)]
    place: Place,
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
