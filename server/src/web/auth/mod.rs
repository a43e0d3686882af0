//! Who is asking.
//!
//! A browser signs in at `/auth/login` and gets a session: a random key in a cookie that scripts
//! cannot read, whose hash is a row in the database. A program sends a bearer token, whose hash is
//! a row in the database. A session is looked up for each request, a token unless that was done a
//! moment ago. Whoever changes rights waits for that moment to pass, so a role that was lowered, a
//! user who was disabled, a password that was changed or a token that was taken back counts from
//! the next request on; a socket that stays open asks again for each operation, and every now and
//! then for those under way.
//!
//! - `login`: signing in and out
//! - `oidc`: the browser's way to the identity provider and back
//! - `identity`: from a request to a viewer; `address`: from where, behind a proxy too; `lookup_cache`: one
//!   look at a token for several requests
//! - `session`: what a session keeps, and when it ends
//! - `session_store`: where tower-sessions keeps it

mod address;
mod device;
mod identity;
mod login;
mod lookup_cache;
mod oidc;
mod session;
mod session_store;

pub(super) use address::client as client_address;
pub(super) use identity::{Asking, Credential, identify, reason_in, recognize};
pub(super) use login::{login, logout};
pub(super) use lookup_cache::LookupCache;
pub(super) use oidc::{begin, callback, methods};
pub use session_store::SessionStore;
