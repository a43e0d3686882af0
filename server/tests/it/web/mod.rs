//! HTTP, asked of the built binary.

mod audit;
mod calendar;
mod cluster_events;
mod coming_back;
mod console;
mod graphql;
mod guessing;
mod instruments;
pub(crate) mod oidc;
mod other_sites;
mod rights;
mod sessions;
mod sign_in;
mod tracing;
mod watched;
