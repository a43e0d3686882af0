//! HTTP: everything that comes through the one port.
//!
//! Promises: nothing behind `/graphql` is answered for a stranger; a page of another site can
//! neither read nor order anything with a visitor's cookie; every answer of ours is GraphQL, JSON,
//! Prometheus' text or the console. The room turns requests into viewers and hands them on; what a
//! viewer may do is decided by the API and the engine's commands, never here.
//!
//! - `serve`: connections, and who is cut off; `stream`: one of them
//! - `state`: what the handlers share
//! - `auth`: sign-in, sessions, bearer tokens
//! - `same_origin`: no orders from other sites
//! - `body`: how large a body may be, and how long it may take
//! - `headers`: what every answer carries
//! - `audit`: the audit log as a file
//! - `graphql`: queries and mutations, and the way to a socket
//! - `explorer`: a page to try them out
//! - `socket`: what comes over one: subscriptions, as long as their subscriber may have them
//! - `calendar`: upcoming runs for calendars
//! - `health`, `metrics`: for those who watch us; `watch`: who they are
//! - `console`: the single-page app, embedded or from a folder
//! - `refusal`: errors as JSON
//!
//! Order matters and is this, from outside in: headers on everything; limits and identity on
//! `/graphql` and `/auth`; the console last, because it answers every path that is left.

mod audit;
mod auth;
mod body;
mod calendar;
mod console;
mod explorer;
mod graphql;
mod headers;
mod health;
mod metrics;
mod refusal;
mod router;
mod same_origin;
mod serve;
mod socket;
mod state;
mod stream;
mod watch;

pub use auth::SessionStore;
pub use router::router;
pub use serve::{Limits, serve};
pub use state::Web;
