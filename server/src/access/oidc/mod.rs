//! Signing in by an OpenID Connect provider: authorization code with PKCE.
//!
//! Promises: a sign-in belongs to the browser that began it (`state`), its token to that sign-in
//! (`nonce`), and its code is worth nothing without what only this server knows (the PKCE
//! verifier). A token counts if the provider signed it with one of its published keys, for this
//! client, and it is neither expired nor from the future, clocks that are a minute apart aside.
//!
//! Somebody is known by issuer and subject, never by a name or an address of mail: those can be
//! given to others. What their groups let them do is put in the place of what they let them do
//! before, at each sign-in, and is kept apart from roles and memberships that people gave.
//!
//! - `provider`: discovery, keys, the requests
//! - `token`: what a token says, and whether it counts
//! - `joining`: who that is here

mod joining;
mod provider;
mod token;

pub use joining::{Joined, join};
pub use provider::{Begun, Provider};
pub use token::Identity;

use crate::target::FetchError;

/// Why a sign-in by the provider did not come about. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// It could not be asked.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// What it says of itself cannot be used.
    #[error("read what the provider says of itself: {0}")]
    Metadata(String),
    /// It did not answer a moment ago.
    #[error("ask the provider: it did not answer a moment ago")]
    Away,
    /// It does not take the code.
    #[error("exchange the code: the provider says {0}")]
    Code(String),
    /// What it answers cannot be used.
    #[error("read the provider's answer: {0}")]
    Answer(String),
    /// Its token does not count.
    #[error("accept the token: {0}")]
    Token(String),
}

impl OidcError {
    /// Whether the provider or the way to it is at fault, and not the sign-in.
    pub fn is_providers(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Metadata(_) | Self::Away | Self::Answer(_) => true,
            Self::Code(_) | Self::Token(_) => false,
        }
    }
}
