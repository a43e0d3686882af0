//! HTTP requests to the built binary.

mod agent;
mod as_of;
mod audit;
mod budgets;
mod calendar;
mod cluster_events;
mod coming_back;
mod console;
mod draining;
mod graphql;
mod guessing;
mod hosts;
mod instruments;
pub(crate) mod oidc;
mod one_time_passwords;
mod other_sites;
mod own_threads;
mod rights;
mod rust_worker;
mod sessions;
mod sign_in;
mod tracing;
mod watched;
mod workers;
mod workers_arrival;
mod workers_document;
mod workers_lost;
