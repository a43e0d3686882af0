use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use rand::{TryRngCore, rngs::OsRng};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use uuid::Uuid;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// An encryption key.
#[derive(Clone)]
pub struct EncryptionKey {
    id: String,
    cipher: XChaCha20Poly1305,
}

/// The place to which an encrypted value is bound. Its ciphertext can be decrypted there and
/// nowhere else.
#[derive(Clone, Copy, Debug)]
pub enum SecretScope<'a> {
    /// A secret that tasks use.
    Secret {
        /// The namespace.
        namespace: Uuid,
        /// The secret's name.
        name: &'a str,
    },
    /// The confidential part of an alert channel.
    Channel {
        /// The channel. Its name may change.
        id: Uuid,
        /// The secret's name, for messages.
        name: &'a str,
    },
}

/// The error for a text that is not a key. The text is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not 32 bytes in base64 or hex; 'carillon secret new-key' prints one that is")]
pub struct NotAKey;

impl EncryptionKey {
    /// Reads a key: 32 bytes in base64 or hex; surrounding whitespace is ignored.
    pub fn read(text: &str) -> Result<Self, NotAKey> {
        let text = text.trim();
        let bytes = if text.len() == 2 * KEY_BYTES {
            unhex(text).ok_or(NotAKey)?
        } else {
            STANDARD.decode(text).map_err(|_| NotAKey)?
        };
        let cipher = XChaCha20Poly1305::new_from_slice(&bytes).map_err(|_| NotAKey)?;
        let digest = Sha256::new().chain_update(b"carillon key id").chain_update(&bytes).finalize();
        let id = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { id, cipher })
    }

    /// A new key, as text for [`EncryptionKey::read`].
    pub fn random() -> Result<SecretString, rand::rand_core::OsError> {
        let mut bytes = [0_u8; KEY_BYTES];
        OsRng.try_fill_bytes(&mut bytes)?;
        Ok(STANDARD.encode(bytes).into())
    }

    /// A short digest that identifies the key and reveals nothing about it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Encrypts a value for this place. Returns nonce and ciphertext in base64; `None` if the
    /// system provides no random numbers.
    pub(super) fn seal(&self, place: SecretScope<'_>, value: &SecretString) -> Option<String> {
        let mut nonce = [0_u8; NONCE_BYTES];
        OsRng.try_fill_bytes(&mut nonce).ok()?;
        let aad = place.bytes();
        let payload = Payload { msg: value.expose_secret().as_bytes(), aad: &aad };
        let ciphertext = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some(STANDARD.encode([&nonce[..], &ciphertext].concat()))
    }

    /// The value that was encrypted for this place with this key; `None` for anything else.
    pub(super) fn open(&self, place: SecretScope<'_>, sealed: &str) -> Option<SecretString> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let aad = place.bytes();
        let payload = Payload { msg: ciphertext, aad: &aad };
        let opened = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(opened).ok().map(Into::into)
    }
}

impl SecretScope<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Secret { namespace, name } => {
                [&b"carillon secret 1"[..], namespace.as_bytes(), name.as_bytes()].concat()
            }
            Self::Channel { id, .. } => [&b"carillon alert channel 1"[..], id.as_bytes()].concat(),
        }
    }

    /// A description of the encrypted value.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Secret { name, .. } => format!("the secret '{name}'"),
            Self::Channel { name, .. } => format!("the alert channel '{name}'"),
        }
    }

    /// How an operator can recover if the value can no longer be decrypted.
    pub(super) fn mending(&self) -> &'static str {
        match self {
            Self::Secret { .. } => "delete the secret and set it again",
            Self::Channel { .. } => "give its address again, and its signing secret if it has one",
        }
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> EncryptionKey {
        EncryptionKey::read(&"ab".repeat(32)).unwrap()
    }

    const HERE: SecretScope<'_> =
        SecretScope::Secret { namespace: Uuid::from_u128(1), name: "smtp" };

    #[test]
    fn a_sealed_value_opens_only_in_its_place_with_its_key() {
        let sealed = key().seal(HERE, &"hunter2".into()).unwrap();
        assert!(!sealed.contains("hunter2"));
        assert_eq!(key().open(HERE, &sealed).unwrap().expose_secret(), "hunter2");
        for place in [
            SecretScope::Secret { namespace: Uuid::from_u128(2), name: "smtp" },
            SecretScope::Secret { namespace: Uuid::from_u128(1), name: "b" },
            SecretScope::Channel { id: Uuid::from_u128(1), name: "smtp" },
        ] {
            assert!(key().open(place, &sealed).is_none(), "{place:?}");
        }
        let other = EncryptionKey::read(EncryptionKey::random().unwrap().expose_secret()).unwrap();
        assert!(other.open(HERE, &sealed).is_none());
        assert_ne!(other.id(), key().id());
    }

    #[test]
    fn the_same_value_is_sealed_differently_each_time() {
        let (one, two) = (key().seal(HERE, &"x".into()), key().seal(HERE, &"x".into()));
        assert_ne!(one.unwrap(), two.unwrap());
    }

    #[test]
    fn a_ciphertext_that_was_changed_does_not_open() {
        let sealed = key().seal(HERE, &"hunter2".into()).unwrap();
        let mut bytes = STANDARD.decode(&sealed).unwrap();
        for at in [0, NONCE_BYTES, bytes.len() - 1] {
            bytes[at] ^= 1;
            assert!(key().open(HERE, &STANDARD.encode(&bytes)).is_none(), "{at}");
            bytes[at] ^= 1;
        }
        for text in ["", "AAAA", "not base64"] {
            assert!(key().open(HERE, text).is_none());
        }
    }

    #[test]
    fn a_key_is_32_bytes_and_never_printed() {
        let text = STANDARD.encode([0xab_u8; 32]);
        assert_eq!(EncryptionKey::read(&format!(" {text}\n")).unwrap().id(), key().id());
        for bad in ["", "short", &"zz".repeat(32), &STANDARD.encode([0_u8; 31])] {
            assert_eq!(EncryptionKey::read(bad).unwrap_err(), NotAKey);
        }
        assert!(!format!("{:?}", key()).contains("abab"));
    }
}
