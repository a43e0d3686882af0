use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::{UnreadFile, key_text};

/// An OpenID Connect provider by which people sign in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    /// Its address, as its tokens name it.
    pub issuer: String,
    /// How it knows this server.
    pub client_id: String,
    /// A file with the secret by which this server proves to be that client. A public client has
    /// none.
    #[serde(default)]
    pub client_secret_file: Option<PathBuf>,
    /// That secret itself, for the environment.
    #[serde(default)]
    pub client_secret: Option<SecretString>,
    /// What people call it: stands on the button.
    #[serde(default = "name")]
    pub name: String,
    /// What is asked for beside `openid`.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// The claim that new users get their names from.
    #[serde(default = "name_claim")]
    pub name_claim: String,
    /// The claim with the groups.
    #[serde(default = "groups_claim")]
    pub groups_claim: String,
    /// Whether the provider may be in a private network or on this machine.
    #[serde(default)]
    pub private_addresses: bool,
    /// What members of groups may do.
    #[serde(default)]
    pub grants: Vec<GroupGrant>,
}

/// What members of a group may do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupGrant {
    /// As the provider spells it.
    pub group: String,
    /// Where; everywhere without one.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Which role.
    pub role: GroupRole,
    /// Whether they see contexts, outputs and logs.
    #[serde(default)]
    pub sees_payloads: bool,
}

/// See the roles of `docs/people.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupRole {
    /// Look.
    Viewer,
    /// Trigger, cancel, retry, pause, resume, backfill.
    Operator,
    /// Make, change and delete.
    Editor,
    /// People, tokens, secrets.
    Admin,
}

fn name() -> String {
    "single sign-on".to_owned()
}

fn scopes() -> Vec<String> {
    ["profile", "email"].map(str::to_owned).to_vec()
}

fn name_claim() -> String {
    "preferred_username".to_owned()
}

fn groups_claim() -> String {
    "groups".to_owned()
}

impl Oidc {
    /// The secret of the client, if it has one.
    pub fn secret(&self) -> Result<Option<SecretString>, UnreadFile> {
        let (text, file) = (self.client_secret.as_ref(), self.client_secret_file.as_ref());
        key_text::text("oidc.client_secret_file", text, file)
    }
}
