//! Secrets at rest: sealed in the database, opened for the attempt that names them, masked in
//! whatever that attempt returns.
//!
//! The key comes from outside the database, so a copy of the database, a backup or a replica
//! reveals no secret. Each ciphertext (XChaCha20-Poly1305) carries the id of its key, and is bound
//! to its namespace and name: a row that is copied to another place does not open there. During a
//! key rotation two keys open, and the first one seals. The hidden part of an alert channel is
//! sealed in the same way, bound to the channel.
//!
//! A secret that cannot be opened is an error that names the secret and the missing key; it is
//! never replaced by an empty value.
//!
//! - `key`: one key, and sealing with it
//! - `keyring`: [`Vault`], the keys of this process
//! - `opening`: the secrets that an attempt or a message names
//! - `mask`: removes the same secrets from texts; `forms`: the encodings in which they may appear

mod forms;
mod key;
mod keyring;
mod mask;
mod opening;

pub use key::{Key, NotAKey, SecretScope};
pub use keyring::{Sealed, Vault, VaultError};
pub(crate) use mask::Mask;
pub(crate) use opening::SecretNamespace;

/// Replaces a secret where it is shown.
pub(crate) const MASK: &str = "***";
