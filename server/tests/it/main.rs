//! The integration tests are one binary, so that the server is linked only once. Folders mirror the
//! layers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by panicking, its helpers too"
)]

mod api;
mod attacks;
mod chaos;
mod cli;
mod crash;
mod docs;
mod engine;
mod failover;
mod guarantees;
mod layers;
mod packaging;
mod readme;
mod repository;
mod settings;
mod store;
mod support;
mod target;
mod type_names;
mod web;
