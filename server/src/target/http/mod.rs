//! Requests over HTTP.
//!
//! A definition is read once into a `Prepared` request, by the same code when it is saved and
//! when it is sent: what was accepted can be sent. One client serves all requests that show no
//! certificate of their own; it resolves
//! names through the egress guard, uses no proxy and follows no redirect by itself. Redirects are
//! followed here, since each hop must be judged again and must not carry secrets to a stranger.
//! An answer is read up to the output limit and no further. Messages and log lines name the
//! origin of a URL only: paths and queries hold tokens.
//!
//! - `definition`: what a user writes
//! - `expected`: the set of statuses that count as success
//! - `prepare`: reads a definition, or says which field is wrong
//! - `message`: the headers and the body of one attempt
//! - `client`: clients and their TLS; most requests share one
//! - `identity`: certificates that requests show of themselves
//! - `sender`: sends, follows redirects, keeps the time limit
//! - `redirect`: what the next hop is and what it may carry; pure
//! - `answer`: reads an answer within bounds and judges it
//! - `failure`: which step failed, in words
//! - `fetch`: requests of the server itself
//! - `place`: what may be shown of a URL

mod answer;
mod client;
mod definition;
mod expected;
mod failure;
mod fetch;
mod identity;
mod message;
mod place;
mod prepare;
mod redirect;
mod sender;

pub(crate) use definition::MAX_REDIRECTS;
pub use definition::{Answers, Http, Method};
pub use expected::StatusSet;
pub use fetch::{FetchError, Fetched, Fetcher};
pub(super) use place::origin;
pub(super) use sender::Sender;
