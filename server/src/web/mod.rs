//! HTTP: everything that comes through the one port.
//!
//! Promises: nothing behind `/graphql` is answered for a stranger; a page of another site can
//! neither read nor order anything with a visitor's cookie; every answer of ours is GraphQL, JSON,
//! Prometheus' text or the console. The room turns requests into viewers and hands them on; what a
//! viewer may do is decided by the API and the engine's commands, never here.
//!
//! - `state`: what the handlers share
//! - `auth`: sign-in, sessions, bearer tokens, the limit on guessing
//! - `same_origin`: no orders from other sites
//! - `headers`: what every answer carries
//! - `graphql`: queries and mutations, the way to a socket, and GraphiQL
//! - `socket`: what comes over one: subscriptions, as long as their subscriber may have them
//! - `health`, `metrics`: for those who watch us
//! - `console`: the single-page app, embedded or from a folder
//! - `refusal`: errors as JSON
//!
//! Order matters and is this, from outside in: headers on everything; limits and identity on
//! `/graphql` and `/auth`; the console last, because it answers every path that is left.

mod auth;
mod console;
mod graphql;
mod headers;
mod health;
mod metrics;
mod refusal;
mod router;
mod same_origin;
mod socket;
mod state;

pub use auth::{Limiter, SessionStore};
pub use router::router;
pub use state::Web;
