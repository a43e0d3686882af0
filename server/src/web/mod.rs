//! HTTP: everything that comes through the one port.
//!
//! Promises: nothing behind `/graphql` is answered for a stranger; a page of another site can
//! neither read nor order anything with a visitor's cookie; every answer of ours is GraphQL, JSON,
//! Prometheus' text or the console. The layer turns requests into viewers and hands them on; what a
//! viewer may do is decided by the API and the engine's commands, never here.
//!
//! - `serve`: connections, and which are cut off; `connection`: what is answered on one, and where;
//!   `stream`: its bytes, of which `inbound` says how many may come; `places`: how many there are
//! - `sockets`: how many WebSockets there are; `counter`: so many of one address or person
//! - `hosts`: no requests by a name that is not ours
//! - `refusals`: what is refused again and again, counted for the log
//! - `state`: what the handlers share
//! - `auth`: sign-in, sessions, bearer tokens
//! - `same_origin`: no orders from other sites
//! - `body`: how large a body may be, and how long it may take
//! - `headers`: what every answer carries
//! - `audit`: the audit log as a file
//! - `graphql`: queries and mutations, and the way to a socket; `asked`, `answered`: how they come
//!   and how they are answered; `cross_origin`: from which other pages they may come
//! - `explorer`: a page to try them out
//! - `socket`: what comes over one: subscriptions, as long as their subscriber may have them;
//!   `transport`: the protocol that it speaks
//! - `calendar`: upcoming runs for calendars
//! - `workers`: the protocol of programs that pull tasks
//! - `probes`: what answers whatever else does not: `health` and `metrics`; `watch`: for whom;
//!   `memory`: what the database answered last
//! - `console`: the single-page app and the documentation, embedded or from a folder
//! - `refusal`: errors as JSON
//!
//! Order matters and is this, from outside in: headers on everything; limits and identity on
//! `/graphql` and `/auth`; the console last, because it answers every path that is left.

mod answered;
mod asked;
mod audit;
mod auth;
mod body;
mod calendar;
mod connection;
mod console;
mod counter;
mod cross_origin;
mod explorer;
mod graphql;
mod headers;
mod health;
mod hosts;
mod inbound;
mod memory;
mod metrics;
mod places;
mod probes;
mod refusal;
mod refusals;
mod router;
mod same_origin;
mod serve;
mod socket;
mod sockets;
mod state;
mod stream;
mod transport;
mod watch;
mod workers;

pub use auth::SessionStore;
pub use router::{probe_router, router};
pub use serve::{Front, Limits};
pub use state::Web;
