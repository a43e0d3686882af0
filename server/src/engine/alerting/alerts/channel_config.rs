use entity::alert_channel::{Kind, Model, Sealed};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::form::ChannelCall;
use crate::{
    target::{Http, SecretText, Target},
    vault::{self, SecretScope, Vault, VaultError},
};

/// The secret part of a channel's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelSecrets {
    /// The receiver's URL. Anyone who knows it may write to the receiver.
    /// After the host, the URL may contain references to secrets.
    pub url: SecretText,
    /// The key of the Standard Webhooks signature, or a reference to the secret that contains it.
    pub signing_secret: Option<SecretText>,
    /// The key that identifies the sender to PagerDuty and Opsgenie,
    /// or a reference to the secret that contains it.
    #[serde(default)]
    pub key: Option<SecretText>,
}

/// Receivers of messages sent by HTTP, each with a format of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// A program that receives webhooks. The request may be signed.
    Webhook,
    /// Slack and compatible services.
    Slack,
    /// Microsoft Teams.
    Teams,
    /// PagerDuty's Events API.
    Pagerduty,
    /// Opsgenie's Alert API.
    Opsgenie,
}

impl Receiver {
    /// The receiver of a channel of this kind; `None` for mail.
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

    /// The kind of the channels that send to this receiver.
    pub fn kind(self) -> Kind {
        match self {
            Self::Webhook => Kind::Webhook,
            Self::Slack => Kind::Slack,
            Self::Teams => Kind::Teams,
            Self::Pagerduty => Kind::Pagerduty,
            Self::Opsgenie => Kind::Opsgenie,
        }
    }

    /// The URL that a channel uses if it does not set one.
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Pagerduty => Some("https://events.pagerduty.com/v2/enqueue"),
            Self::Opsgenie => Some("https://api.opsgenie.com/v2/alerts"),
            Self::Webhook | Self::Slack | Self::Teams => None,
        }
    }

    /// Whether the receiver requires a key. If it does, its URL is not a secret.
    pub fn has_key(self) -> bool {
        matches!(self, Self::Pagerduty | Self::Opsgenie)
    }
}

/// How a channel sends its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelConfig {
    /// HTTP requests to this receiver.
    Request(Receiver, ChannelSecrets),
    /// Mail to these addresses.
    Email(Vec<String>),
}

impl ChannelConfig {
    /// Reads the configuration from the channel's row and decrypts it.
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
            return Ok(Self::Email(recipients(&row.shown).map_err(|_| broken())?));
        };
        Ok(Self::Request(receiver, hidden()?))
    }

    /// Checks the part of a channel that can be read without a key: the addresses of a mail
    /// channel. The rest of a channel's configuration is encrypted.
    pub fn check_shown(kind: Kind, shown: &Value) -> Result<(), serde_json::Error> {
        match Receiver::of(kind) {
            Some(_) => Ok(()),
            None => recipients(shown).map(drop),
        }
    }

    /// The channel's secrets, encrypted for its row, and the id of the encryption key.
    /// A mail channel has none.
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

/// Reads the addresses of a mail channel from the unencrypted part of its row.
fn recipients(shown: &Value) -> Result<Vec<String>, serde_json::Error> {
    serde_json::from_value(shown["to"].clone())
}

impl ChannelSecrets {
    /// The request without a message. References to secrets are not replaced yet:
    /// a message contains text by others, in which no secret must be filled in.
    /// The request follows no redirects, because its signature is meant for this URL only.
    pub fn request(&self, receiver: Receiver) -> Target {
        let mut http = Http {
            max_redirects: 0,
            signing_secret: self.signing_secret.clone(),
            ..Http::post(self.url.expose())
        };
        let key = self.key.as_ref().map(SecretText::expose).unwrap_or_default();
        match receiver {
            Receiver::Pagerduty => http.body = Some(json!({ "routing_key": key })),
            Receiver::Opsgenie => {
                let value = SecretText::new(format!("GenieKey {key}"));
                http.headers.insert("authorization".to_owned(), value);
            }
            Receiver::Webhook | Receiver::Slack | Receiver::Teams => {}
        }
        Target::Http(http)
    }
}

/// The request with its secrets filled in and with the body of the call.
pub(super) fn carrying(request: &Target, call: &ChannelCall) -> Target {
    let Target::Http(http) = request else { return request.clone() };
    let mut body = call.body.clone();
    // Add the fields that the channel itself sets, such as a routing key.
    if let (Some(Value::Object(own)), Value::Object(all)) = (&http.body, &mut body) {
        all.extend(own.clone());
    }
    let url = call.below.as_ref().map_or_else(
        || http.url.clone(),
        |below| format!("{}/{below}", http.url.trim_end_matches('/')),
    );
    Target::Http(Http { url, body: Some(body), ..http.clone() })
}
