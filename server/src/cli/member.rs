use std::collections::HashMap;

use clap::{Args, Subcommand};
use entity::user::Role;
use sea_orm::ActiveEnum;
use serde_json::json;

use super::{CliError, flags::Existing, offline::Office, output, user::role, why::Why};
use crate::{
    commands::{Call, CommandError, NewMembership},
    store::{memberships, namespaces, users},
};

/// Number of members read at once.
const BATCH: u64 = 500;

/// Manage users' permissions in single namespaces
#[derive(Debug, Args)]
pub(super) struct Member {
    #[command(flatten)]
    place: Existing,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a user a member of a namespace, or change their permissions there
    Add {
        /// The user's name
        user: String,
        /// The namespace
        #[arg(long, default_value = "default")]
        namespace: String,
        /// viewer, operator, editor or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// Show them contexts, outputs and logs
        #[arg(long)]
        sees_payloads: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Remove a user from a namespace
    Remove {
        /// The user's name
        user: String,
        /// The namespace
        #[arg(long, default_value = "default")]
        namespace: String,
        #[command(flatten)]
        why: Why,
    },
    /// List the members of a namespace
    List {
        /// The namespace
        #[arg(long, default_value = "default")]
        namespace: String,
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
}

impl Member {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let office = Office::open(&self.place).await?;
        match self.action {
            Action::Add { user, namespace, role, sees_payloads, why } => {
                let right = why.local_operator().admin()?;
                let word = role.to_value();
                let text = format!("'{user}' has the role {word} in '{namespace}'");
                let new = NewMembership { user, namespace, role, sees_payloads, reason: None };
                office.commands()?.set_membership(&right, &new, &Call::once()).await?;
                output::line(text)
            }
            Action::Remove { user, namespace, why } => {
                let right = why.local_operator().admin()?;
                let (commands, call) = (office.commands()?, Call::once());
                commands.remove_membership(&right, &user, &namespace, None, &call).await?;
                output::line(format!("'{user}' is no longer a member of '{namespace}'"))
            }
            Action::List { namespace, json } => list(&office, &namespace, json).await,
        }
    }
}

async fn list(office: &Office, namespace: &str, as_json: bool) -> Result<(), CliError> {
    let read = office.store.read();
    let found = namespaces::by_name(read, namespace).await?;
    let id = found.ok_or_else(|| CommandError::not_found("namespace", namespace))?.id;
    let mut rows = Vec::new();
    loop {
        let after = rows.last().map(|row: &entity::membership::Model| row.user_id);
        let batch = memberships::of_namespace(read, id, after, BATCH).await?;
        if batch.is_empty() {
            break;
        }
        rows.extend(batch);
    }
    let people = users::list(read).await?;
    let names: HashMap<_, _> = people.into_iter().map(|user| (user.id, user.name)).collect();
    let name = |row: &entity::membership::Model| {
        names.get(&row.user_id).cloned().unwrap_or_else(|| row.user_id.to_string())
    };
    if as_json {
        let members = rows.iter().map(|row| {
            let role = row.role.to_value();
            json!({ "user": name(row), "role": role, "sees_payloads": row.sees_payloads })
        });
        return output::json(&members.collect::<Vec<_>>());
    }
    let rows: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let shown = if row.sees_payloads { "yes" } else { "no" };
            [name(row), row.role.to_value(), shown.to_owned()]
        })
        .collect();
    output::table(["USER", "ROLE", "SEES PAYLOADS"], &rows)
}
