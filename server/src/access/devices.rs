//! Browsers in which a user has signed in before. If other people have used up the guesses for the
//! user's name, such a browser still has guesses of its own.

use rand::{TryRngCore, rngs::OsRng};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{GuessRefusal, Guesses, PeopleError, limiter::LimiterKey};
use crate::{
    clock::Clock,
    store::{Store, StoreError, devices},
};

/// Maximum number of remembered browsers of one user.
const MAX_DEVICES: u64 = 20;

/// Identifies a browser: the value of a cookie that only it has.
#[derive(Clone)]
pub struct Device(String);

impl Device {
    /// A new device: 192 random bits.
    pub fn new() -> Result<Self, PeopleError> {
        let mut random = [0_u8; 24];
        OsRng.try_fill_bytes(&mut random).map_err(|error| PeopleError::Hash(error.to_string()))?;
        Ok(Self(random.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Parses the cookie of a browser; `None` if this server cannot have set it.
    pub fn parse(text: &str) -> Option<Self> {
        let is_ours = text.len() == 48 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| Self(text.to_owned()))
    }

    /// The value of this device's cookie.
    pub fn cookie(&self) -> &str {
        &self.0
    }

    /// The key that the database stores for this device and the user with this name.
    fn id(&self, name: &str) -> String {
        format!("{:x}", Sha256::digest(format!("device\0{name}\0{}", self.0)))
    }

    /// Whether the user with this name has signed in from this device before.
    pub async fn is_known(&self, store: &Store, name: &str) -> Result<bool, StoreError> {
        devices::is_known(store.read(), &self.id(name)).await
    }

    /// Remembers that the user with this name has signed in from this device.
    pub async fn remember(
        &self,
        store: &Store,
        clock: &Clock,
        user_id: Uuid,
        name: &str,
    ) -> Result<(), StoreError> {
        let tx = store.begin().await?;
        let at = clock.now().into();
        devices::remember(&tx, self.id(name), user_id, at, MAX_DEVICES).await?;
        store.commit(tx).await
    }

    /// Counts an attempt at the password of the user with this name against the device's own limit.
    pub async fn attempt(&self, guesses: &Guesses, name: &str) -> Result<(), GuessRefusal> {
        guesses.count(&[LimiterKey::Device(self.id(name))]).await
    }

    /// Returns an attempt whose password was correct to the allowance.
    pub async fn forgive(&self, guesses: &Guesses, name: &str) {
        guesses.forgive_keys(&[LimiterKey::Device(self.id(name))]).await;
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Device(***)")
    }
}
