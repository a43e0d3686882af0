//! `carillon user`: adds, lists, changes and removes users.

use std::io::{self, BufRead, IsTerminal};

use clap::{Args, Subcommand};
use entity::user::Role;
use sea_orm::ActiveEnum;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::{CliError, flags::Existing, offline::Office, output, user_sessions, why::Why};
use crate::{
    access::{
        Access, NewUser, PasswordUse, PeopleError, Tokens, add_user, random_password, set_access,
        set_password,
    },
    commands::Call,
    store::users,
};

/// Manage the people who sign in
#[derive(Debug, Args)]
pub(super) struct User {
    #[command(flatten)]
    place: Existing,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a user
    Add {
        /// Unique name
        name: String,
        /// viewer, operator, editor or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// Let the user see contexts, outputs and logs; editors and administrators always may
        #[arg(long)]
        sees_payloads: bool,
        #[command(flatten)]
        password: Password,
        #[command(flatten)]
        why: Why,
    },
    /// List the users
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Set a new password for a user; their sessions end
    Passwd {
        /// The user's name
        name: String,
        /// Revoke the user's API tokens as well
        #[arg(long)]
        revoke_tokens: bool,
        #[command(flatten)]
        password: Password,
        #[command(flatten)]
        why: Why,
    },
    /// List the browsers in which a user is signed in, or end their sessions
    Sessions {
        /// The user's name
        name: String,
        /// End the session whose id begins like this, or all of them
        #[arg(long, value_name = "ID", value_parser = user_sessions::which)]
        end: Option<String>,
        /// Answer as JSON
        #[arg(long, conflicts_with = "end")]
        json: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Disable a user: they cannot sign in, and their sessions end
    Disable {
        /// The user's name
        name: String,
        /// Even if it is the last administrator who can sign in
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Change a user's role in all namespaces
    Role {
        /// The user's name
        name: String,
        /// viewer, operator, editor, admin, or none to leave only the permissions of memberships
        #[arg(value_parser = role_or_none)]
        role: RoleOrNone,
        /// Let the user see contexts, outputs and logs; editors and administrators always may
        #[arg(long)]
        sees_payloads: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Remove a user with their memberships, sessions and tokens; what they did stays in the audit log
    Delete {
        /// The user's name
        name: String,
        #[command(flatten)]
        why: Why,
    },
    /// Enable a disabled user
    Enable {
        /// The user's name
        name: String,
        #[command(flatten)]
        why: Why,
    },
}

/// A user's role in all namespaces, if any.
#[derive(Clone, Copy, Debug)]
struct RoleOrNone(Option<Role>);

fn role_or_none(text: &str) -> Result<RoleOrNone, String> {
    if text == "none" {
        return Ok(RoleOrNone(None));
    }
    let role = role(text).map_err(|_| "choose viewer, operator, editor, admin or none".to_owned());
    Ok(RoleOrNone(Some(role?)))
}

impl Office {
    /// The id of the user with this name.
    pub(super) async fn user(&self, name: &str) -> Result<Uuid, CliError> {
        let user = users::by_name(self.store.read(), name).await?;
        let missing = || PeopleError::NotFound { what: "user", name: name.to_owned() };
        Ok(user.ok_or_else(missing)?.id)
    }
}

/// The source of a password: a prompt, unless one of these flags is set.
#[derive(Debug, Args)]
struct Password {
    /// Read the password from the first line of standard input
    #[arg(long, conflicts_with = "random")]
    password_stdin: bool,
    /// Generate a random one-time password and print it
    #[arg(long)]
    random: bool,
    /// The user chose this password and keeps it [default: only if no other person is on the server]
    #[arg(long, conflicts_with = "random")]
    own_password: bool,
}

impl User {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let office = Office::open(&self.place).await?;
        let Office { store, clock, .. } = &office;
        match self.action {
            Action::Add { name, role, sees_payloads, password, why } => {
                let owner = why.local_operator().owner()?;
                let (text, password_use) = password.read()?;
                let user = NewUser {
                    name: name.clone(),
                    password: text.clone(),
                    password_use,
                    role,
                    sees_payloads,
                };
                let must_change = add_user(&owner, store, clock, user).await?;
                output::line(format!("added the {} '{name}'", role.to_value()))?;
                password.show(&text, &name, must_change)
            }
            Action::Passwd { name, revoke_tokens, password, why } => {
                let owner = why.local_operator().owner()?;
                let (text, password_use) = password.read()?;
                let tokens = if revoke_tokens { Tokens::Revoked } else { Tokens::Kept };
                let new = text.clone();
                let set = set_password(&owner, store, clock, &name, new, password_use, tokens);
                let set = set.await?;
                output::line(format!("changed the password of '{name}'"))?;
                match set.live_tokens {
                    0 => {}
                    left => output::line(format!(
                        "'{name}' has {left} valid API tokens: --revoke-tokens revokes them as well"
                    ))?,
                }
                password.show(&text, &name, set.must_change)
            }
            Action::Sessions { name, end: Some(which), why, .. } => {
                user_sessions::end(&office, &name, &which, why).await
            }
            Action::Sessions { name, end: None, json, .. } => {
                user_sessions::list(&office, &name, json).await
            }
            Action::Disable { name, force, why } => {
                let owner = why.local_operator().owner()?;
                let access = if force { Access::TakenByForce } else { Access::Taken };
                set_access(&owner, store, clock, &name, access).await?;
                output::line(format!("'{name}' can no longer sign in"))
            }
            Action::Enable { name, why } => {
                let owner = why.local_operator().owner()?;
                set_access(&owner, store, clock, &name, Access::Given).await?;
                output::line(format!("'{name}' can sign in again"))
            }
            Action::Role { name, role: RoleOrNone(role), sees_payloads, why } => {
                let owner = why.local_operator().owner()?;
                let id = office.user(&name).await?;
                let sees = sees_payloads || role >= Some(Role::Editor);
                let (commands, call) = (office.commands()?, Call::once());
                commands.set_user_role(&owner, id, role, sees, None, &call).await?;
                let word = role.map_or("none".to_owned(), |role| role.to_value());
                output::line(format!("the role of '{name}' is {word} now"))
            }
            Action::Delete { name, why } => {
                let owner = why.local_operator().owner()?;
                let id = office.user(&name).await?;
                office.commands()?.delete_user(&owner, id, None, &Call::once()).await?;
                output::line(format!("deleted '{name}'"))
            }
            Action::List { json } => list(&users::list(store.read()).await?, json),
        }
    }
}

fn list(users: &[entity::user::Model], as_json: bool) -> Result<(), CliError> {
    if as_json {
        let users = users.iter().map(|user| {
            json!({
                "name": user.name,
                "role": user.role.map(|role| role.to_value()),
                "service": user.is_service,
                "created_at": user.created_at.utc(),
                "disabled_at": user.disabled_at.map(entity::Timestamp::utc),
                "signed_in_at": user.signed_in_at.map(entity::Timestamp::utc),
                "must_change_password": user.must_change_password,
            })
        });
        return output::json(&users.collect::<Vec<_>>());
    }
    let rows: Vec<[String; 4]> = users
        .iter()
        .map(|user| {
            let state = match (user.disabled_at, user.must_change_password) {
                (Some(_), _) => "disabled",
                (None, true) => "one-time password",
                (None, false) => "active",
            };
            let seen = user.signed_in_at.map_or("never".to_owned(), |at| at.utc().to_rfc3339());
            let role = user.role.map_or("-".to_owned(), |role| role.to_value());
            [user.name.clone(), role, state.to_owned(), seen]
        })
        .collect();
    output::table(["NAME", "ROLE", "STATE", "LAST SIGN-IN"], &rows)
}

impl Password {
    /// The password, and how long the user keeps it.
    fn read(&self) -> Result<(SecretString, PasswordUse), CliError> {
        if self.random {
            return Ok((random_password()?, PasswordUse::Once));
        }
        let password = if self.password_stdin || !io::stdin().is_terminal() {
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            read.map_err(CliError::io("read the password from standard input"))?;
            line.trim_end_matches(['\r', '\n']).to_owned()
        } else {
            let ask = |prompt| {
                rpassword::prompt_password(prompt).map_err(CliError::io("ask for the password"))
            };
            let password = ask("Password: ")?;
            if password != ask("Once more: ")? {
                return Err(CliError::Usage("the two passwords differ".to_owned()));
            }
            password
        };
        let kept = if self.own_password { PasswordUse::Own } else { PasswordUse::OwnIfAlone };
        Ok((password.into(), kept))
    }

    /// Prints a generated password, which is shown only this once, and what its user has to do.
    fn show(&self, text: &SecretString, name: &str, must_change: bool) -> Result<(), CliError> {
        if self.random {
            output::line(format!("password: {}", text.expose_secret()))?;
        }
        match (must_change, self.random) {
            (true, true) => {
                output::line(format!("'{name}' must choose another one at the next sign-in"))
            }
            (true, false) => output::line(format!(
                "'{name}' must choose another password at the next sign-in; with --own-password \
                 they keep the one that you set"
            )),
            (false, _) => Ok(()),
        }
    }
}

/// Parses a role.
pub(super) fn role(text: &str) -> Result<Role, String> {
    Role::try_from_value(&text.to_owned())
        .map_err(|_| "choose viewer, operator, editor or admin".to_owned())
}
