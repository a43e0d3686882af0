//! Secrets at rest: sealed in the database, opened for the attempt that names them, masked in
//! whatever that attempt gives back.
//!
//! The key comes from outside the database, so a copy of the database, a backup or a replica shows
//! no secret. Each ciphertext (XChaCha20-Poly1305) carries the id of its key, and is bound to its
//! namespace and name: a row that is copied to another place does not open there. While keys are
//! exchanged, two of them open, and the first seals. What is not shown of an alert channel is sealed
//! alike, bound to the channel.
//!
//! What cannot be opened is an error that names the secret and the key that is missing; nothing is
//! ever filled in with an empty value.
//!
//! - `key`: one key, and sealing with it
//! - `keyring`: [`Vault`], the keys of this process
//! - `opening`: the secrets that an attempt or a message names
//! - `mask`: the same secrets, taken out of texts; `forms`: how these may be written there

mod forms;
mod key;
mod keyring;
mod mask;
mod opening;

pub use key::{Key, NotAKey, SecretScope};
pub use keyring::{Sealed, Vault, VaultError};
pub(crate) use mask::Mask;
pub(crate) use opening::Whose;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "***";
