//! What is done with history, and how the server is.
//!
//! - `retention`: removes history that is old enough
//! - `stats`: counts what has settled, for charts
//! - `health`: what `/healthz` says

pub mod health;
pub mod retention;
pub(crate) mod stats;
