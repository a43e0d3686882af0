use std::{
    collections::HashMap,
    io::{self, IsTerminal, Read},
};

use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::{
    CliError,
    flags::Existing,
    offline::{Office, local_operator},
    output,
    why::Why,
};
use crate::{
    commands::{Call, CommandError, NewSecret, RotationBatch},
    store::{deleted_namespaces::known_name, namespaces, secrets},
    vault::EncryptionKey,
};

/// Manage secret values, which tasks use and which cannot be read back
#[derive(Debug, Args)]
pub(super) struct Secret {
    #[command(flatten)]
    place: Existing,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set a secret from standard input or a prompt
    Set {
        /// Name for templates: {{ secrets.NAME }}
        name: String,
        /// The namespace
        #[arg(long, default_value = "default")]
        namespace: String,
        /// Reason, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// List the names of the secrets
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret; tasks that use it fail from now on
    Delete {
        /// The secret's name
        name: String,
        /// The namespace
        #[arg(long, default_value = "default")]
        namespace: String,
        /// Reason, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Re-encrypt with the current key everything that another key encrypts, including alert
    /// channel addresses; if interrupted, run it again
    Rotate {
        #[command(flatten)]
        why: Why,
    },
    /// Print a new key for secrets.key_file
    NewKey,
}

impl Secret {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if matches!(self.action, Action::NewKey) {
            let key = EncryptionKey::random().map_err(|error| io::Error::other(error.to_string()));
            return output::line(key.map_err(CliError::io("make a key"))?.expose_secret());
        }
        let office = Office::open(&self.place).await?;
        let admin = local_operator().admin()?;
        match self.action {
            Action::Set { name, namespace, reason } => {
                let value = value()?;
                let text = format!("set the secret '{name}' in '{namespace}'");
                let new = NewSecret { namespace, name, value, reason };
                let commands = office.commands_with_keys()?;
                commands.set_secret(&admin, new, &Call::once()).await?;
                output::line(text)
            }
            Action::Delete { name, namespace, reason } => {
                let (commands, reason) = (office.commands()?, reason.as_deref());
                commands.delete_secret(&admin, &namespace, &name, reason, &Call::once()).await?;
                output::line(format!("deleted the secret '{name}' in '{namespace}'"))
            }
            Action::Rotate { why } => rotate(&office, why).await,
            Action::List { json } => list(&office, json).await,
            Action::NewKey => Ok(()),
        }
    }
}

async fn rotate(office: &Office, why: Why) -> Result<(), CliError> {
    let (commands, owner) = (office.commands_with_keys()?, &why.local_operator().owner()?);
    let (secrets, unopened) =
        to_the_end(async |after| commands.rotate_secrets(owner, after).await).await?;
    let (channels, locked) =
        to_the_end(async |after| commands.rotate_channels(owner, after).await).await?;
    let sealed = format!("{secrets} secrets and {channels} alert channels");
    output::line(format!("sealed {sealed} with the current key"))?;
    let failed = unopened + locked;
    if failed == 0 { Ok(()) } else { Err(CliError::Warnings(failed)) }
}

/// Re-encrypts in batches until nothing is left. Returns the number of re-encrypted values, and the
/// number of values that cannot be decrypted.
async fn to_the_end(
    turn: impl AsyncFn(Option<Uuid>) -> Result<RotationBatch, CommandError>,
) -> Result<(usize, usize), CliError> {
    let (mut done, mut failed, mut after) = (0, 0, None);
    loop {
        let turn = turn(after).await?;
        done += turn.done;
        failed += turn.failed.len();
        for line in &turn.failed {
            output::aside(format_args!("warning: {line}"));
        }
        if turn.next.is_none() {
            return Ok((done, failed));
        }
        after = turn.next;
    }
}

async fn list(office: &Office, as_json: bool) -> Result<(), CliError> {
    let rows = secrets::list(office.store.read()).await?;
    let ids: Vec<_> = rows.iter().map(|row| row.namespace_id).collect();
    let named = namespaces::by_ids(office.store.read(), &ids).await?;
    let names: HashMap<_, _> = named.into_iter().map(|row| (row.id, known_name(row))).collect();
    let namespace =
        |row: &entity::secret::Model| names.get(&row.namespace_id).cloned().unwrap_or_default();
    if as_json {
        let secrets = rows.iter().map(|row| {
            json!({
                "namespace": namespace(row),
                "name": row.name,
                "version": row.version,
                "key": row.key_id,
                "set_by": row.set_by,
                "updated_at": row.updated_at.utc(),
            })
        });
        return output::json(&secrets.collect::<Vec<_>>());
    }
    let rows: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let (name, set) = (row.name.clone(), row.updated_at.utc().to_rfc3339());
            [namespace(row), name, row.version.to_string(), row.key_id.clone(), set]
        })
        .collect();
    output::table(["NAMESPACE", "NAME", "VERSION", "KEY", "SET"], &rows)
}

/// All of standard input without the final line end; prompts on a terminal.
fn value() -> Result<SecretString, CliError> {
    if io::stdin().is_terminal() {
        let typed = rpassword::prompt_password("Value: ");
        return Ok(typed.map_err(CliError::io("ask for the value"))?.into());
    }
    let mut text = String::new();
    // The limit is above the maximum length of a value, so a longer value is still refused because
    // of its length.
    let read = io::stdin().lock().take(128 * 1024).read_to_string(&mut text);
    read.map_err(CliError::io("read the value from standard input"))?;
    let end = text.strip_suffix('\n').map_or(text.len(), str::len);
    text.truncate(end);
    if text.ends_with('\r') {
        text.pop();
    }
    Ok(text.into())
}
