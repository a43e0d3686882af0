use entity::alert_channel::{Kind, Model, Sealed};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::form::Call;
use crate::{
    target::{Http, Secret, Target},
    vault::{self, SecretScope, Vault, VaultError},
};

/// What is not shown of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Where to. Whoever knows the address of such a receiver may write to it. It may name secrets
    /// behind the host.
    pub url: Secret,
    /// Key of the Standard Webhooks signature, or the secret that it is.
    pub signing_secret: Option<Secret>,
    /// The key by which PagerDuty and Opsgenie know who writes, or the secret that it is.
    #[serde(default)]
    pub key: Option<Secret>,
}

/// Who takes requests, each in a form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// A program: the request is signed or not.
    Webhook,
    /// Slack and its like.
    Slack,
    /// Microsoft Teams.
    Teams,
    /// PagerDuty's Events API.
    Pagerduty,
    /// Opsgenie's Alert API.
    Opsgenie,
}

impl Receiver {
    /// Of a channel of that kind; mails have none.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Webhook => Some(Self::Webhook),
            Kind::Slack => Some(Self::Slack),
            Kind::Teams => Some(Self::Teams),
            Kind::Pagerduty => Some(Self::Pagerduty),
            Kind::Opsgenie => Some(Self::Opsgenie),
            Kind::Email => None,
        }
    }

    /// The kind of its channels.
    pub fn kind(self) -> Kind {
        match self {
            Self::Webhook => Kind::Webhook,
            Self::Slack => Kind::Slack,
            Self::Teams => Kind::Teams,
            Self::Pagerduty => Kind::Pagerduty,
            Self::Opsgenie => Kind::Opsgenie,
        }
    }

    /// Where it is reached if a channel says nothing else.
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Pagerduty => Some("https://events.pagerduty.com/v2/enqueue"),
            Self::Opsgenie => Some("https://api.opsgenie.com/v2/alerts"),
            Self::Webhook | Self::Slack | Self::Teams => None,
        }
    }

    /// Whether it asks for a key. Its address is no secret then.
    pub fn has_key(self) -> bool {
        matches!(self, Self::Pagerduty | Self::Opsgenie)
    }
}

/// How a channel reaches people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelConfig {
    /// A request to that receiver, or several.
    Request(Receiver, Hidden),
    /// A mail to these addresses.
    Email(Vec<String>),
}

impl ChannelConfig {
    /// What the channel's row says, opened.
    pub fn read(row: &Model, vault: &Vault) -> Result<Self, VaultError> {
        let place = SecretScope::Channel { id: row.id, name: &row.name };
        let broken = || VaultError::broken(place);
        let hidden = || {
            let key_id = row.key_id.clone().ok_or_else(broken)?;
            let sealed = vault::Sealed { key_id, text: row.sealed.0.clone() };
            let opened = vault.open(place, &sealed)?;
            serde_json::from_str(opened.expose_secret()).map_err(|_| broken())
        };
        let Some(receiver) = Receiver::of(row.kind) else {
            let to = serde_json::from_value(row.shown["to"].clone());
            return Ok(Self::Email(to.map_err(|_| broken())?));
        };
        Ok(Self::Request(receiver, hidden()?))
    }

    /// What is not shown, sealed for its place, and the key that opens it; a mail has nothing of it.
    pub fn sealed(
        &self,
        place: SecretScope<'_>,
        vault: &Vault,
    ) -> Result<(Option<String>, Sealed), VaultError> {
        match self {
            Self::Request(_, hidden) => {
                let text = serde_json::to_string(hidden).map_err(|_| VaultError::broken(place))?;
                let vault::Sealed { key_id, text } = vault.seal(place, &text.into())?;
                Ok((Some(key_id), Sealed(text)))
            }
            Self::Email(_) => Ok((None, Sealed(String::new()))),
        }
    }
}

impl Hidden {
    /// The request, with the names of secrets where it names some, and without a message: what a
    /// message says is the text of others, in which nothing is to be filled in. It follows no
    /// redirect: what was signed for one place is not for another.
    pub fn request(&self, receiver: Receiver) -> Target {
        let mut http = Http {
            max_redirects: 0,
            signing_secret: self.signing_secret.clone(),
            ..Http::post(self.url.expose())
        };
        let key = self.key.as_ref().map(Secret::expose).unwrap_or_default();
        match receiver {
            Receiver::Pagerduty => http.body = Some(json!({ "routing_key": key })),
            Receiver::Opsgenie => {
                let value = Secret::new(format!("GenieKey {key}"));
                http.headers.insert("authorization".to_owned(), value);
            }
            Receiver::Webhook | Receiver::Slack | Receiver::Teams => {}
        }
        Target::Http(http)
    }
}

/// The same request, its secrets filled in, with what a call is to carry.
pub(super) fn carrying(request: &Target, call: &Call) -> Target {
    let Target::Http(http) = request else { return request.clone() };
    let mut body = call.body.clone();
    // What the request says by itself.
    if let (Some(Value::Object(own)), Value::Object(all)) = (&http.body, &mut body) {
        all.extend(own.clone());
    }
    let url = call.below.as_ref().map_or_else(
        || http.url.clone(),
        |below| format!("{}/{below}", http.url.trim_end_matches('/')),
    );
    Target::Http(Http { url, body: Some(body), ..http.clone() })
}
