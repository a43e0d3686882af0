//! What is done with history, and how the server is.
//!
//! - `retention`: removes history that is old enough
//! - `quota_refresh`: reads the quotas that were set
//! - `stats`: counts what has settled, for charts
//! - `health`: what `/healthz` says; `advice`: what to do about it; `saturation`: whether a node has places for the runs that want
//!   some

pub mod advice;
pub mod health;
mod quota_refresh;
pub mod retention;

mod saturation;
pub(crate) mod stats;

pub(super) use quota_refresh::Refresh;
