//! Sign-in through an OpenID Connect provider: authorization code with PKCE.
//!
//! Promises: a sign-in belongs to the browser that began it (`state`), its token to that sign-in
//! (`nonce`), and its code is worthless without a secret that only this server knows (the PKCE
//! verifier). A token is accepted if the provider signed it with one of its published keys, for
//! this client, and it is neither expired nor from the future, with a tolerance of one minute.
//!
//! A person is identified by issuer and subject, never by a name or an email address: those can be
//! given to others. At each sign-in the grants from their groups replace the previous ones; they
//! are stored separately from roles and memberships that people granted.
//!
//! - `provider`: discovery, keys, the requests
//! - `token`: a token's claims, and whether it is valid
//! - `account`: finds or adds the user for an identity

mod account;
mod provider;
mod token;

pub use account::{SignInOutcome, join};
pub use provider::{Provider, StartedSignIn};
pub use token::Identity;

use crate::target::FetchError;

/// Why a sign-in through the provider failed. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The provider could not be reached.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The provider's metadata cannot be used.
    #[error("read the provider's metadata: {0}")]
    Metadata(String),
    /// The last request to the provider failed, and the next one is not due yet.
    #[error("ask the provider: it did not answer a moment ago")]
    Away,
    /// The provider refuses the code.
    #[error("exchange the code: the provider says {0}")]
    Code(String),
    /// The provider's response cannot be used.
    #[error("read the provider's answer: {0}")]
    Answer(String),
    /// The provider's token is not valid.
    #[error("accept the token: {0}")]
    Token(String),
}

impl OidcError {
    /// Whether the provider or the connection to it is at fault, and not the sign-in.
    pub fn is_providers(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Metadata(_) | Self::Away | Self::Answer(_) => true,
            Self::Code(_) | Self::Token(_) => false,
        }
    }
}
