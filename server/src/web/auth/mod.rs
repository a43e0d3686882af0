//! Identifies callers.
//!
//! A browser signs in at `/auth/login` and gets a session: a random key in a cookie that scripts
//! cannot read, whose hash is a row in the database. A program sends a bearer token, whose hash is
//! a row in the database. A session is looked up for each request, and a token unless it was looked
//! up a moment ago. Changes of rights wait for that moment to pass, so that a lowered role, a
//! disabled user, a changed password or a revoked token takes effect from the next request. An open
//! socket checks again for each operation, and periodically for those in progress.
//!
//! - `login`: signing in and out
//! - `oidc`: redirects to the identity provider and back
//! - `identity`: from a request to a viewer; `address`: the client's address, also behind a proxy;
//!   `lookup_cache`: shares one lookup of a token among several requests
//! - `browser`: the browser of a sign-in; `device`: recognises a browser that has signed in before
//! - `session`: the contents of a session, and when it ends
//! - `session_store`: stores sessions for tower-sessions

mod address;
mod browser;
mod device;
mod identity;
mod login;
mod lookup_cache;
mod oidc;
mod session;
mod session_store;

pub(super) use address::client as client_address;
pub(super) use identity::{Credential, Requester, identify, reason_in, recognize};
pub(super) use login::{login, logout};
pub(super) use lookup_cache::LookupCache;
pub(super) use oidc::{begin, callback, methods};
pub use session_store::SessionStore;
