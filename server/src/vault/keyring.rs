use std::sync::Arc;

use sea_orm::ConnectionTrait;
use secrecy::SecretString;
use uuid::Uuid;

use super::{Key, SecretScope};
use crate::store::{Store, StoreError, alerts, secrets};

/// The keys that open secrets here; the first of them seals. Without a key there are no secrets.
#[derive(Clone, Debug, Default)]
pub struct Vault {
    keys: Arc<[Key]>,
}

/// A sealed secret, as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The key that opens it.
    pub key_id: String,
    /// Nonce and ciphertext.
    pub text: String,
}

/// Why a secret cannot be sealed or opened. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// This server has no key.
    #[error(
        "use secrets: this server has no key for them; set secrets.key_file to a file with what \
         'carillon secret new-key' prints"
    )]
    NoKey,
    /// This server has other keys.
    #[error(
        "open {what}: it is sealed with the key {key_id}, and this server has {here}; give that \
         key as secrets.previous_key_file, or {mending}"
    )]
    OtherKey {
        /// The secret.
        what: String,
        /// The key that opens it.
        key_id: String,
        /// The keys of this server.
        here: String,
        /// What else to do.
        mending: &'static str,
    },
    /// The ciphertext was changed, or copied from somewhere else.
    #[error(
        "open {what}: what the database keeps of it was changed or belongs elsewhere; {mending}"
    )]
    Broken {
        /// The secret.
        what: String,
        /// What to do.
        mending: &'static str,
    },
    /// There is no secret of that name.
    #[error("find the secret '{name}': the namespace has none of that name; set it")]
    Missing {
        /// The requested name.
        name: String,
    },
    /// The system provides no random numbers.
    #[error("seal a secret: the system gives no random numbers")]
    NoRandom,
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Vault {
    /// `current` seals and opens; `previous` opens values that are not resealed yet.
    pub fn new(current: Key, previous: Option<Key>) -> Self {
        Self { keys: std::iter::once(current).chain(previous).collect() }
    }

    /// The id of the key that seals.
    pub fn current(&self) -> Result<&str, VaultError> {
        Ok(self.keys.first().ok_or(VaultError::NoKey)?.id())
    }

    /// Seals a value for its place.
    pub fn seal(&self, place: SecretScope<'_>, value: &SecretString) -> Result<Sealed, VaultError> {
        let key = self.keys.first().ok_or(VaultError::NoKey)?;
        let text = key.seal(place, value).ok_or(VaultError::NoRandom)?;
        Ok(Sealed { key_id: key.id().to_owned(), text })
    }

    /// Opens what was sealed for that place.
    pub fn open(
        &self,
        place: SecretScope<'_>,
        sealed: &Sealed,
    ) -> Result<SecretString, VaultError> {
        let Some(key) = self.keys.iter().find(|key| key.id() == sealed.key_id) else {
            return Err(self.lacks(place, &sealed.key_id));
        };
        key.open(place, &sealed.text).ok_or_else(|| VaultError::broken(place))
    }

    /// Fails if there are secrets that no key here opens. Otherwise their tasks would fail one by
    /// one, long after the operator who started the server has left.
    pub async fn check(&self, store: &Store) -> Result<(), VaultError> {
        self.check_secrets(store.read()).await
    }

    /// Returns an error for an alert channel that no key here opens, if there is one. Their
    /// messages wait, but fires are not affected.
    pub async fn check_channels<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<(), VaultError> {
        self.opens_channels(&alerts::sealed::samples(connection).await?)
    }

    /// Whether there is a key here for each of these samples: keys in use, with an alert channel.
    pub fn opens_channels(&self, samples: &[(String, Uuid, String)]) -> Result<(), VaultError> {
        match samples.iter().find(|(key_id, ..)| !self.has(key_id)) {
            Some((key_id, id, name)) => {
                Err(self.lacks(SecretScope::Channel { id: *id, name }, key_id))
            }
            None => Ok(()),
        }
    }

    /// Whether everything that is sealed opens here, as of a transaction: with another key, this
    /// server and those that have the right one could not open what the other seals.
    pub(crate) async fn check_in<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<(), VaultError> {
        self.check_secrets(connection).await?;
        self.check_channels(connection).await
    }

    /// The same for secrets alone.
    pub(crate) async fn check_secrets<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<(), VaultError> {
        self.opens(&secrets::samples(connection).await?)
    }

    /// Whether there is a key here for each of these samples: keys in use, with the name of a
    /// secret.
    pub fn opens(&self, samples: &[(String, String)]) -> Result<(), VaultError> {
        match samples.iter().find(|(key_id, _)| !self.has(key_id)) {
            Some((key_id, name)) => {
                Err(self.lacks(SecretScope::Secret { namespace: Uuid::nil(), name }, key_id))
            }
            None => Ok(()),
        }
    }

    fn has(&self, key_id: &str) -> bool {
        self.keys.iter().any(|key| key.id() == key_id)
    }

    fn lacks(&self, place: SecretScope<'_>, key_id: &str) -> VaultError {
        let ids: Vec<&str> = self.keys.iter().map(Key::id).collect();
        let here = if ids.is_empty() { "none".to_owned() } else { ids.join(" and ") };
        let (what, mending) = (place.what(), place.mending());
        VaultError::OtherKey { what, key_id: key_id.to_owned(), here, mending }
    }
}

impl VaultError {
    /// The stored value for that place is invalid.
    pub(crate) fn broken(place: SecretScope<'_>) -> Self {
        Self::Broken { what: place.what(), mending: place.mending() }
    }
}
