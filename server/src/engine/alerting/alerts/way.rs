use entity::alert_channel::{Kind, Model, Sealed};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    target::{Http, Secret, Target},
    vault::{self, Place, Vault, VaultError},
};

/// What is not shown of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Where to. Whoever knows the address of such a receiver may write to it. It may name secrets
    /// behind the host.
    pub url: Secret,
    /// Key of the Standard Webhooks signature, or the secret that it is.
    pub signing_secret: Option<Secret>,
}

/// How a channel reaches people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A request, signed or not.
    Webhook(Hidden),
    /// A request in Slack's form.
    Slack(Hidden),
    /// A mail to these addresses.
    Email(Vec<String>),
}

impl Way {
    /// What the channel's row says, opened.
    pub fn read(row: &Model, vault: &Vault) -> Result<Self, VaultError> {
        let place = Place::Channel { id: row.id, name: &row.name };
        let broken = || VaultError::broken(place);
        let hidden = || {
            let key_id = row.key_id.clone().ok_or_else(broken)?;
            let sealed = vault::Sealed { key_id, text: row.sealed.0.clone() };
            let opened = vault.open(place, &sealed)?;
            serde_json::from_str(opened.expose_secret()).map_err(|_| broken())
        };
        Ok(match row.kind {
            Kind::Webhook => Self::Webhook(hidden()?),
            Kind::Slack => Self::Slack(hidden()?),
            Kind::Email => {
                let to = serde_json::from_value(row.shown["to"].clone());
                Self::Email(to.map_err(|_| broken())?)
            }
        })
    }

    /// What is not shown, sealed for its place, and the key that opens it; a mail has nothing of it.
    pub fn sealed(
        &self,
        place: Place<'_>,
        vault: &Vault,
    ) -> Result<(Option<String>, Sealed), VaultError> {
        match self {
            Self::Webhook(hidden) | Self::Slack(hidden) => {
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
    pub fn request(&self) -> Target {
        Target::Http(Http {
            max_redirects: 0,
            signing_secret: self.signing_secret.clone(),
            ..Http::post(self.url.expose())
        })
    }
}

/// The same request, its secrets filled in, with what it is to carry.
pub(super) fn carrying(request: Target, payload: Value) -> Target {
    match request {
        Target::Http(http) => Target::Http(Http { body: Some(payload), ..http }),
        other @ (Target::Command(_) | Target::Publish(_) | Target::Noop(_)) => other,
    }
}
