//! Upkeep of history, and the server's health.
//!
//! - `retention`: removes history that is old enough
//! - `quota_refresh`: reads the configured quotas
//! - `stats`: counts settled runs and fires, for charts
//! - `health`: the checks of `/healthz`; `advice`: what to do about a failed one; `saturation`:
//!   whether a node has places for waiting runs

pub mod advice;
pub mod health;
mod quota_refresh;
pub mod retention;

mod saturation;
pub(crate) mod stats;

pub(super) use quota_refresh::Refresh;
