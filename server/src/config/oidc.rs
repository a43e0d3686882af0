use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::{UnreadFile, key_text};

/// An OpenID Connect provider for signing in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    /// The provider's URL, as in the `iss` claim of its tokens.
    pub issuer: String,
    /// The client id of this server at the provider.
    pub client_id: String,
    /// A file with the client secret that authenticates this server. A public client has none.
    #[serde(default)]
    pub client_secret_file: Option<PathBuf>,
    /// The client secret itself, for the environment.
    #[serde(default)]
    pub client_secret: Option<SecretString>,
    /// The name that the sign-in button shows.
    #[serde(default = "name")]
    pub name: String,
    /// The scopes to request in addition to `openid`.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// The claim from which new users get their names.
    #[serde(default = "name_claim")]
    pub name_claim: String,
    /// The claim with the groups.
    #[serde(default = "groups_claim")]
    pub groups_claim: String,
    /// Whether the provider may be in a private network or on this machine.
    #[serde(default)]
    pub private_addresses: bool,
    /// The permissions of group members.
    #[serde(default)]
    pub grants: Vec<GroupGrant>,
}

/// The permissions of a group's members.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupGrant {
    /// The group's name as the provider spells it.
    pub group: String,
    /// The namespace; all namespaces if absent.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The role that the group grants.
    pub role: GroupRole,
    /// Whether the members may see contexts, outputs and logs.
    #[serde(default)]
    pub sees_payloads: bool,
}

/// See the roles of `docs/people.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupRole {
    /// Read.
    Viewer,
    /// Trigger, cancel, retry, pause, resume, backfill.
    Operator,
    /// Create, change and delete.
    Editor,
    /// Manage people, tokens and secrets.
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
    /// The client secret, if there is one.
    pub fn secret(&self) -> Result<Option<SecretString>, UnreadFile> {
        let (text, file) = (self.client_secret.as_ref(), self.client_secret_file.as_ref());
        key_text::text("oidc.client_secret_file", text, file)
    }
}
