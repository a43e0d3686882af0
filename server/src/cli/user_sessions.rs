//! The browsers in which a user is signed in.

use entity::{Timestamp, session};
use serde_json::json;
use uuid::Uuid;

use super::{CliError, offline::Office, output, why::Why};
use crate::{
    access::browser_name,
    commands::{Call, CommandError},
    store::sessions,
};

/// Maximum number of sessions that are listed.
const MAX: u64 = 1_000;
/// How many characters of an id the table shows.
const SHOWN: usize = 12;
/// The word that stands for all sessions.
const ALL: &str = "all";

impl Office {
    /// A user's sessions, the latest first.
    async fn sessions_of(&self, user: Uuid) -> Result<Vec<session::Model>, CliError> {
        let now = self.clock.now().into();
        Ok(sessions::of_user(self.store.read(), user, now, MAX).await?)
    }
}

/// Parses the beginning of an id, or the word for all sessions.
pub(super) fn which(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err(format!("give the beginning of an id from the list, or {ALL}"));
    }
    Ok(text.to_owned())
}

/// Lists the sessions of the user with this name.
pub(super) async fn list(office: &Office, name: &str, as_json: bool) -> Result<(), CliError> {
    let rows = office.sessions_of(office.user(name).await?).await?;
    let browser = |row: &session::Model| row.browser.as_deref().map(browser_name);
    if as_json {
        let rows = rows.iter().map(|row| {
            json!({
                "id": row.id,
                "address": row.address,
                "browser": browser(row),
                "began_at": row.began_at.map(Timestamp::utc),
                "used_at": row.used_at.map(Timestamp::utc),
                "expires_at": row.expires_at.utc(),
            })
        });
        return output::json(&rows.collect::<Vec<_>>());
    }
    let at = |at: Option<Timestamp>| at.map_or("-".to_owned(), |at| at.utc().to_rfc3339());
    let rows: Vec<[String; 6]> = rows
        .iter()
        .map(|row| {
            [
                row.id.chars().take(SHOWN).collect(),
                row.address.clone().unwrap_or("-".to_owned()),
                browser(row).unwrap_or("-".to_owned()),
                at(row.began_at),
                at(row.used_at),
                row.expires_at.utc().to_rfc3339(),
            ]
        })
        .collect();
    output::table(["ID", "FROM", "BROWSER", "SIGNED IN", "USED", "ENDS"], &rows)
}

/// Ends one session of the user with this name, or all.
pub(super) async fn end(
    office: &Office,
    name: &str,
    which: &str,
    why: Why,
) -> Result<(), CliError> {
    let (user, who) = (office.user(name).await?, why.local_operator());
    let (commands, call) = (office.commands()?, Call::once());
    if which == ALL {
        let ended = commands.revoke_sessions(&who, user, None, &call).await?;
        return output::line(format!("ended all sessions of '{name}': {ended}"));
    }
    let rows = office.sessions_of(user).await?;
    let found: Vec<_> = rows.iter().filter(|row| row.id.starts_with(which)).collect();
    match found.as_slice() {
        [] => Err(CommandError::not_found("session", which).into()),
        [row] => {
            commands.revoke_session(&who, &row.id, None, &call).await?;
            output::line(format!("ended a session of '{name}'"))
        }
        [..] => {
            let count = found.len();
            let text =
                format!("the ids of {count} sessions begin with '{which}'; give more of the id");
            Err(CliError::Usage(text))
        }
    }
}
