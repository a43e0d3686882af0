//! The HTTP layer: everything that the server's port answers.
//!
//! Promises: `/graphql` answers nothing to unauthenticated callers. A page of another site can
//! neither read nor change anything with a visitor's cookie. Every response is GraphQL, JSON,
//! Prometheus' text or the console. This layer identifies the viewer of a request and passes it on;
//! the API and the engine's commands decide what a viewer may do.
//!
//! - `serve`: accepts connections and cuts some off; `connection`: answers the requests of one;
//!   `stream`: its bytes, limited by `inbound`; `places`: limits the number of connections
//! - `sockets`: limits the number of WebSockets; `counter`: counts per address or person
//! - `hosts`: refuses requests for other host names
//! - `refusals`: counts repeated refusals for the log
//! - `state`: the state that the handlers share
//! - `auth`: sign-in, sessions, bearer tokens
//! - `same_origin`: refuses changes requested by other sites
//! - `body`: limits the size and duration of a body
//! - `headers`: the headers of every response
//! - `audit`: exports the audit log as a file
//! - `graphql`: queries and mutations, and the upgrade to a socket; `graphql_request`,
//!   `graphql_response`, `answer_body`: parse requests and build responses; `cross_origin`: other
//!   origins that may call it
//! - `explorer`: a page for trying out GraphQL
//! - `socket`: serves a WebSocket: subscriptions, as long as the subscriber may see them;
//!   `transport`: its protocol
//! - `calendar`: upcoming runs for calendar programs
//! - `workers`: the protocol of programs that pull tasks
//! - `probes`: the endpoints that answer even if everything else fails: `health` and `metrics`;
//!   `watch`: who may read them; `memory`: the last answer of the database
//! - `console`: the single-page app and the documentation, embedded or from a directory
//! - `refusal`: errors as JSON
//!
//! The order of the layers matters, from outside in: headers on everything; limits and identity on
//! `/graphql` and `/auth`; the console last, because it answers every remaining path.

mod answer_body;
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
mod graphql_request;
mod graphql_response;
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
pub use serve::{ConnectionLimits, Front};
pub use state::Web;
