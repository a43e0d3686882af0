//! Signing in to a server from the command line, and signing out.

use clap::Args;
use entity::user::Role;
use sea_orm::ActiveEnum;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    profiles::{Profile, Profiles},
    session::{CookieSession, chosen_password, typed},
    token::end,
    user::role,
    when::duration,
};
use crate::{clock::Clock, config::Span};

/// Sign in to a server, and use it for later commands
///
/// With --user, creates a token of your own for this machine; without it, asks for an existing
/// token. Either way the token is stored in a file that only you can read.
#[derive(Debug, Args)]
pub(super) struct Login {
    /// URL of the server, such as `https://carillon.example`
    #[arg(value_name = "URL")]
    address: String,
    /// Name of the profile [default: the server's host and port]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Sign in as this user, with the password
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Role of the new token: viewer, operator, editor or admin [default: all of your permissions]
    #[arg(long, value_parser = role, requires = "user")]
    role: Option<Role>,
    /// How long the new token is valid
    #[arg(
        long, value_name = "DURATION", requires = "user", default_value = "90d",
        value_parser = duration
    )]
    expires_in: Span,
    /// Read the token, or with --user the password, from standard input; after a one-time password, the new one from the next line
    #[arg(long)]
    stdin: bool,
}

/// Forget the token of a server, and revoke it if 'carillon login --user' created it
#[derive(Debug, Args)]
pub(super) struct Logout {
    /// Name of the profile [default: the current one]
    name: Option<String>,
}

/// The query for the caller's name and role.
const ME: &str = "{ me { name role } }";

/// The query for whether the caller has signed in with a one-time password.
const MUST_CHANGE: &str = "{ me { mustChangePassword } }";

const CHANGE: &str = "mutation ($old: String!, $new: String!) {
    changePassword(oldPassword: $old, newPassword: $new) { user { id } }
}";

const MAKE: &str = "mutation ($input: CreateApiTokenInput!) {
    made: createApiToken(input: $input) { secret apiToken { id } }
}";

const REVOKE: &str = "mutation ($id: UUID!, $reason: String) {
    done: revokeApiToken(id: $id, reason: $reason) { id }
}";

impl Login {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let url = url::Url::parse(&self.address).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let host = url.as_ref().and_then(|url| {
            let host = url.host_str()?;
            Some(url.port().map_or(host.to_owned(), |port| format!("{host}:{port}")))
        });
        let Some(host) = host else {
            let text = format!("'{}' must begin with http:// or https://", self.address);
            return Err(CliError::Usage(text));
        };
        let server = self.address.trim_end_matches('/').to_owned();
        let name = self.name.clone().unwrap_or(host);
        let (token, token_id) = match &self.user {
            Some(user) => {
                let password = typed("Password: ", self.stdin)?;
                let session = CookieSession::open(&server, user, &password).await?;
                let made = self.own_token(&session, &password).await;
                session.close().await;
                made?
            }
            None => (typed("Token: ", self.stdin)?, None),
        };
        let who = Server::of(&server, &token).ask("sign in", ME, json!({})).await?;
        let mut all = Profiles::read()?;
        let profile = Profile { server: server.clone(), token: token.clone(), token_id };
        let before = all.profiles.insert(name.clone(), profile);
        all.current = Some(name.clone());
        let file = all.write()?;
        if let Some(before) = before
            && before.token.expose_secret() != token.expose_secret()
            && let Err(error) = revoke(&before, "carillon login").await
        {
            // It expires on its own, and signing in has succeeded.
            output::aside(format!("the token of the previous sign-in stays valid: {error}"));
        }
        let who = self.user.unwrap_or_else(|| output::cell(&who["me"]["name"]));
        output::line(format!("signed in to {server} as {who}; it is called '{name}' here"))?;
        output::line(format!("the token is kept in {}", file.display()))
    }

    /// Creates a token for this machine, after the user has replaced a one-time password.
    async fn own_token(
        &self,
        session: &CookieSession<'_>,
        password: &SecretString,
    ) -> Result<(SecretString, Option<Uuid>), CliError> {
        let me = session.ask("ask who you are", MUST_CHANGE, json!({})).await?;
        if me["me"]["mustChangePassword"] == true {
            let new = chosen_password(self.stdin)?;
            let passwords = json!({ "old": password.expose_secret(), "new": new.expose_secret() });
            session.ask("change your password", CHANGE, passwords).await?;
            // Creating the token may still fail.
            output::line("your password is changed")?;
        }
        self.token(session).await
    }

    /// Creates a token for this machine; returns it with its id.
    async fn token(
        &self,
        session: &CookieSession<'_>,
    ) -> Result<(SecretString, Option<Uuid>), CliError> {
        let role = match self.role {
            Some(role) => json!(role.to_value().to_uppercase()),
            None => session.ask("ask who you are", ME, json!({})).await?["me"]["role"].take(),
        };
        let input = json!({
            "name": token_name(),
            "role": role,
            "seesPayloads": true,
            "expiresAt": end(Clock::system().now(), self.expires_in)?,
            "reason": "carillon login",
        });
        let mut answer = session.ask("make a token", MAKE, json!({ "input": input })).await?;
        let made = answer["made"].take();
        let secret = made["secret"].as_str().unwrap_or_default().to_owned();
        let id = made["apiToken"]["id"].as_str().and_then(|id| id.parse().ok());
        Ok((secret.into(), id))
    }
}

/// What became of a profile's token on its server.
enum Revoked {
    Now,
    /// It was revoked, or has expired.
    Before,
    /// Signing in did not create it, so others may use it.
    Never,
}

/// Revokes the token of a profile that is no longer used, if signing in created it.
async fn revoke(profile: &Profile, reason: &str) -> Result<Revoked, CliError> {
    let Some(id) = profile.token_id else { return Ok(Revoked::Never) };
    let server = Server::of(&profile.server, &profile.token);
    let asked = json!({ "id": id, "reason": reason });
    match server.ask("revoke the token", REVOKE, asked).await {
        Ok(_) => Ok(Revoked::Now),
        Err(CliError::Client(ClientError::Unauthenticated { .. })) => Ok(Revoked::Before),
        Err(error) => Err(error),
    }
}

/// A unique name for a token, which shows the machine that it belongs to.
fn token_name() -> String {
    let host = nix::unistd::gethostname()
        .map(|host| host.to_string_lossy().into_owned())
        .unwrap_or_default();
    let host: String = host.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    let mut unique = Uuid::now_v7().simple().to_string();
    unique.drain(..20);
    format!("cli-{host}-{unique}")
}

impl Logout {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let mut all = Profiles::read()?;
        let Some(name) = self.name.or_else(|| all.current.clone()) else {
            return output::line("not signed in anywhere");
        };
        let Some(profile) = all.profiles.remove(&name) else {
            return Err(all.unknown(&name));
        };
        if all.current.as_ref() == Some(&name) {
            all.current = None;
        }
        // The profile is removed first, so that signing out works even if the server is
        // unreachable.
        all.write()?;
        output::line(format!("removed the token for {} from this machine", profile.server))?;
        output::line(match revoke(&profile, "carillon logout").await? {
            Revoked::Now => "the server has revoked it",
            Revoked::Before => "the server no longer accepted it",
            Revoked::Never => {
                "the token itself stays valid, because 'carillon login' did not create it"
            }
        })
    }
}
