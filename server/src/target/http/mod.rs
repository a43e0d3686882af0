//! HTTP requests.
//!
//! The same code parses a definition into a `Prepared` request when it is saved and when it is
//! sent, so that every accepted definition can be sent. One client serves all requests without a
//! client certificate; it resolves names through the egress guard, uses no proxy and does not
//! follow redirects itself. This module follows redirects, because each hop must be checked again
//! and must not carry secrets to another origin. A response is read up to the output limit and no
//! further. Messages and log lines only name the origin of a URL, because paths and queries may
//! contain tokens.
//!
//! - `definition`: the definition that a user writes
//! - `expected`: the set of statuses that count as success
//! - `prepare`: validates a definition, or names the wrong field
//! - `message`: the headers and the body of one attempt
//! - `client`: clients and their TLS; most requests share one
//! - `identity`: client certificates of requests
//! - `sender`: sends, follows redirects, enforces the time limit
//! - `redirect`: the next hop and what it may carry; pure
//! - `answer`: reads a response within limits and checks it
//! - `failure`: which step failed, in words
//! - `fetch`: the server's own requests
//! - `place`: the parts of a URL that may be shown

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
