use std::sync::Arc;

use sea_orm::ConnectionTrait;
use secrecy::SecretString;
use uuid::Uuid;

use super::{EncryptionKey, SecretScope};
use crate::store::{
    Store, StoreError,
    alerts::sealed::{self, SealedChannel},
    secrets,
};

/// The keys that decrypt secrets on this server; the first of them encrypts. Without a key, there
/// are no secrets.
#[derive(Clone, Debug, Default)]
pub struct Vault {
    keys: Arc<[EncryptionKey]>,
}

/// An encrypted secret, as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The id of the key that decrypts it.
    pub key_id: String,
    /// Nonce and ciphertext.
    pub text: String,
}

/// Why a secret cannot be encrypted or decrypted. Messages are printed after "failed to".
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
        "decrypt {what}: it is encrypted with the key {key_id}, and this server has {here}; give \
         that key as secrets.previous_key_file, or {mending}"
    )]
    OtherKey {
        /// The secret.
        what: String,
        /// The id of the key that decrypts it.
        key_id: String,
        /// The keys of this server.
        here: String,
        /// What else the operator can do.
        mending: &'static str,
    },
    /// The ciphertext was changed, or copied from elsewhere.
    #[error("decrypt {what}: its ciphertext was changed or belongs elsewhere; {mending}")]
    Broken {
        /// The secret.
        what: String,
        /// What an operator can do.
        mending: &'static str,
    },
    /// There is no secret with this name.
    #[error("find the secret '{name}': the namespace has none of that name; set it")]
    Missing {
        /// The requested name.
        name: String,
    },
    /// The system provides no random numbers.
    #[error("encrypt a secret: the system provides no random numbers")]
    NoRandom,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Vault {
    /// `current` encrypts and decrypts; `previous` decrypts values that are not re-encrypted yet.
    pub fn new(current: EncryptionKey, previous: Option<EncryptionKey>) -> Self {
        Self { keys: std::iter::once(current).chain(previous).collect() }
    }

    /// The id of the key that encrypts.
    pub fn current(&self) -> Result<&str, VaultError> {
        Ok(self.keys.first().ok_or(VaultError::NoKey)?.id())
    }

    /// Encrypts a value for its place.
    pub fn seal(&self, place: SecretScope<'_>, value: &SecretString) -> Result<Sealed, VaultError> {
        let key = self.keys.first().ok_or(VaultError::NoKey)?;
        let text = key.seal(place, value).ok_or(VaultError::NoRandom)?;
        Ok(Sealed { key_id: key.id().to_owned(), text })
    }

    /// Decrypts a value for its place.
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

    /// Fails if there are secrets that no key of this server decrypts. Otherwise their tasks would
    /// fail one by one, long after the operator who started the server has left.
    pub async fn check(&self, store: &Store) -> Result<(), VaultError> {
        self.check_secrets(store.read()).await
    }

    /// Fails if there is an alert channel that no key of this server decrypts. Messages of such
    /// channels wait, but fires are not affected.
    pub async fn check_channels<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<(), VaultError> {
        self.opens_channels(&sealed::samples(connection).await?)
    }

    /// Fails unless this server has the key of each of these alert channels.
    pub fn opens_channels(&self, samples: &[SealedChannel]) -> Result<(), VaultError> {
        match samples.iter().find(|sample| !self.has(&sample.key_id)) {
            Some(SealedChannel { key_id, id, name }) => {
                Err(self.lacks(SecretScope::Channel { id: *id, name }, key_id))
            }
            None => Ok(()),
        }
    }

    /// Fails unless this server can decrypt every encrypted value that the transaction sees. With a
    /// different key, this server and those with the right key could not decrypt each other's
    /// values.
    pub(crate) async fn check_in<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<(), VaultError> {
        self.check_secrets(connection).await?;
        self.check_channels(connection).await
    }

    /// Fails like [`Self::check_in`], but checks only secrets.
    pub(crate) async fn check_secrets<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<(), VaultError> {
        self.opens(&secrets::samples(connection).await?)
    }

    /// Fails unless this server has a key for each of these samples. Each is a key in use, with the
    /// name of a secret that it encrypts.
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
        let ids: Vec<&str> = self.keys.iter().map(EncryptionKey::id).collect();
        let here = if ids.is_empty() { "none".to_owned() } else { ids.join(" and ") };
        let (what, mending) = (place.what(), place.mending());
        VaultError::OtherKey { what, key_id: key_id.to_owned(), here, mending }
    }
}

impl VaultError {
    /// The error for an invalid stored value at this place.
    pub(crate) fn broken(place: SecretScope<'_>) -> Self {
        Self::Broken { what: place.what(), mending: place.mending() }
    }
}
