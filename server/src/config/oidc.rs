use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;
use url::{Host, Url};

use super::{Config, UnreadFile, check::BadSetting, key_text, shown_url};

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

    /// The first invalid setting of this section, given the server's other settings: the provider
    /// must be able to send browsers back to the server.
    pub(super) fn check(&self, config: &Config) -> Result<(), BadSetting> {
        let issuer = Url::parse(&self.issuer).ok();
        let is_here = |url: &Url| match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        let is_issuer = issuer.is_some_and(|url| {
            let safe = url.scheme() == "https" || (url.scheme() == "http" && is_here(&url));
            let plain = url.query().is_none() && url.fragment().is_none();
            safe && plain && url.username().is_empty() && url.password().is_none()
        });
        if !is_issuer {
            let help = "give https://HOST/PATH as the provider's discovery document does \
                        (http:// only for one on this machine)";
            let value = shown_url(&self.issuer);
            return Err(BadSetting::new("oidc.issuer", value, "is not an issuer", help));
        }
        if self.client_id.is_empty() {
            let help = "give the id that the provider knows this server by";
            return Err(BadSetting::new("oidc.client_id", "", "is empty", help));
        }
        if self.client_secret.is_some() && self.client_secret_file.is_some() {
            let (problem, help) = ("is given twice, as text and as a file", "leave one out");
            return Err(BadSetting::new("oidc.client_secret", "***", problem, help));
        }
        if config.public_url.is_none() && !config.listen.ip().is_loopback() {
            let problem = "is not given, and the provider has to send browsers back";
            let help = "give the address that browsers use, such as https://cron.example.org";
            return Err(BadSetting::new("public_url", "", problem, help));
        }
        let length = self.name.chars().count();
        if !(1..=64).contains(&length) || self.name.chars().any(char::is_control) {
            let help = "give 1 to 64 characters for the button";
            return Err(BadSetting::new(
                "oidc.name",
                self.name.escape_debug(),
                "is not a valid name",
                help,
            ));
        }
        let is_scope =
            |scope: &&String| scope.is_empty() || !scope.bytes().all(|b| b.is_ascii_graphic());
        if let Some(scope) = self.scopes.iter().find(is_scope) {
            let help = "give each scope as a separate string";
            return Err(BadSetting::new("oidc.scopes", scope, "is not a scope", help));
        }
        if self.grants.iter().any(|grant| grant.group.is_empty()) {
            let help = "name the group as the provider does";
            return Err(BadSetting::new("oidc.grants.group", "", "is empty", help));
        }
        Ok(())
    }
}
