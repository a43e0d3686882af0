use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, Subcommand};
use entity::{Timestamp, api_token, user::Role};
use sea_orm::ActiveEnum;
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

use super::{
    CliError, flags::Existing, offline::Office, output, user::role, when::duration, why::Why,
};
use crate::{
    access::{NewToken, create_token, revoke_token},
    config::Span,
    store::{deleted_namespaces::known_name, namespaces, tokens, users},
};

/// Manage the tokens with which programs sign in
#[derive(Debug, Args)]
pub(super) struct Token {
    #[command(flatten)]
    place: Existing,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token and print it; only its hash is stored
    Create {
        /// The token's name, for people; unique among the tokens that belong to no user
        name: String,
        /// What the token may do: viewer, operator, editor or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// Limit the token to this namespace [default: it gives access to all namespaces]
        #[arg(long)]
        namespace: Option<String>,
        /// Create a token for workers, which may only pull tasks from this queue; may be given
        /// several times. The role must be operator or higher [default: a token for the API]
        #[arg(long = "queue", value_name = "QUEUE")]
        queues: Vec<String>,
        /// How long the token is valid, such as 90d [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        expires_in: Option<Span>,
        #[command(flatten)]
        why: Why,
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tokens
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; it is refused from its next use on
    Revoke {
        /// The token's name; OWNER/NAME for one that acts for a user
        name: String,
        #[command(flatten)]
        why: Why,
    },
}

impl Token {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Office { store, clock, .. } = Office::open(&self.place).await?;
        match self.action {
            Action::Create { name, role, namespace, queues, expires_in, why, json } => {
                let owner = why.local_operator().owner()?;
                let expires_at = expires_in.map(|span| end(clock.now(), span)).transpose()?;
                let mut answer = json!({
                    "name": name, "role": role.to_value(), "namespace": namespace,
                    "queues": queues, "expires_at": expires_at,
                });
                let token = NewToken { name: name.clone(), role, namespace, queues, expires_at };
                let token = create_token(&owner, &store, &clock, token).await?;
                let text = token.expose_secret();
                if json {
                    answer["token"] = text.into();
                    return output::json(&answer);
                }
                // Only the token goes to standard output, for scripts; the rest is for people.
                output::aside(format!(
                    "created the {} token '{name}'; it is shown only this once",
                    role.to_value()
                ));
                output::line(text)
            }
            Action::List { json } => {
                let mut rows = tokens::list(store.read()).await?;
                let people = users::list(store.read()).await?;
                for row in &mut rows {
                    if let Some(owner) = people.iter().find(|user| Some(user.id) == row.user_id) {
                        row.name = format!("{}/{}", owner.name, row.name);
                    }
                }
                let all = namespaces::all(store.read()).await?;
                let names = all.into_iter().map(|row| (row.id, known_name(row)));
                list(&rows, &names.collect(), clock.now(), json)
            }
            Action::Revoke { name, why } => {
                let owner = why.local_operator().owner()?;
                let revoked = revoke_token(&owner, &store, &clock, &name).await?;
                if revoked {
                    output::line(format!("revoked the token '{name}'"))
                } else {
                    output::line(format!("the token '{name}' was revoked before"))
                }
            }
        }
    }
}

/// The instant at which a token expires that is valid for `span` from `now` on.
pub(super) fn end(now: DateTime<Utc>, span: Span) -> Result<DateTime<Utc>, CliError> {
    let delta = TimeDelta::from_std(span.0).ok().filter(|delta| *delta > TimeDelta::zero());
    let limit = TimeDelta::days(36_500);
    delta.filter(|delta| *delta <= limit).map(|delta| now + delta).ok_or_else(|| {
        CliError::Usage(format!("--expires-in '{span}' must be more than 0s and at most 36500d"))
    })
}

fn list(
    tokens: &[api_token::Model],
    namespaces: &HashMap<Uuid, String>,
    now: DateTime<Utc>,
    as_json: bool,
) -> Result<(), CliError> {
    let state = |token: &api_token::Model| match (token.revoked_at, token.expires_at) {
        (Some(_), _) => "revoked",
        (None, Some(at)) if at.utc() <= now => "expired",
        (None, _) => "active",
    };
    let namespace =
        |token: &api_token::Model| token.namespace_id.and_then(|id| namespaces.get(&id));
    let queues = |token: &api_token::Model| {
        token.queues.as_ref().map(|queues| queues.0.clone()).unwrap_or_default()
    };
    if as_json {
        let tokens = tokens.iter().map(|token| {
            json!({
                "name": token.name,
                "role": token.role.to_value(),
                "namespace": namespace(token),
                "queues": queues(token),
                "state": state(token),
                "created_by": token.created_by,
                "created_at": token.created_at.utc(),
                "expires_at": token.expires_at.map(Timestamp::utc),
                "used_at": token.used_at.map(Timestamp::utc),
            })
        });
        return output::json(&tokens.collect::<Vec<_>>());
    }
    let at = |at: Option<Timestamp>| at.map_or("never".to_owned(), |at| at.utc().to_rfc3339());
    let rows: Vec<[String; 7]> = tokens
        .iter()
        .map(|token| {
            let queues = queues(token).join(" ");
            [
                token.name.clone(),
                token.role.to_value(),
                namespace(token).map_or("all".to_owned(), String::clone),
                if queues.is_empty() { "-".to_owned() } else { queues },
                state(token).to_owned(),
                at(token.expires_at),
                at(token.used_at),
            ]
        })
        .collect();
    let headings = ["NAME", "ROLE", "NAMESPACE", "QUEUES", "STATE", "EXPIRES", "LAST USE"];
    output::table(headings, &rows)
}
