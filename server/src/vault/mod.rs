//! Secrets at rest: encrypted in the database, decrypted for the attempt that names them, masked in
//! everything that the attempt returns.
//!
//! The key comes from outside the database, so a copy of the database, a backup or a replica
//! reveals no secret. Each ciphertext (XChaCha20-Poly1305) contains the id of its key, and is bound
//! to its namespace and name: a row that is copied to another place cannot be decrypted there.
//! During a key rotation, two keys decrypt, and the first one encrypts. The confidential part of an
//! alert channel is encrypted in the same way, bound to the channel.
//!
//! If a secret cannot be decrypted, the error names the secret and the missing key; an empty value
//! never replaces the secret.
//!
//! - `key`: one key, and encrypting with it
//! - `keyring`: [`Vault`], the keys of this process
//! - `lookup`: the secrets that an attempt or a message names
//! - `mask`: removes the same secrets from texts; `forms`: the encodings in which they may appear

mod forms;
mod key;
mod keyring;
mod lookup;
mod mask;

pub use key::{EncryptionKey, NotAKey, SecretScope};
pub use keyring::{Sealed, Vault, VaultError};
pub(crate) use lookup::SecretNamespace;
pub(crate) use mask::Mask;

/// Replaces a secret where it is shown.
pub(crate) const MASK: &str = "***";
