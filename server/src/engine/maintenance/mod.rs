//! Keeps the server itself in order: removes and counts history, and checks the server's health.
//! Maintenance windows, which pause schedules, are elsewhere: see `planning::windows`.
//!
//! - `retention`: removes history whose retention has passed
//! - `history_quotas`: removes history that is over a namespace's quota of rows
//! - `read_history`: how far roll-ups, alerts and pings have read history
//! - `quota_refresh`: reads the configured quotas, and writes this node's usage
//! - `stats`: counts settled runs and fires for charts
//! - `health`: the checks of `/healthz`; `advice`: what to do about a failed check; `saturation`:
//!   whether a node has places for waiting runs

pub mod advice;
pub mod health;
mod history_quotas;
mod quota_refresh;
mod read_history;
pub mod retention;

mod saturation;
pub(crate) mod stats;

pub(super) use history_quotas::HistoryQuotas;
pub use history_quotas::HistoryQuotasReport;
pub(super) use quota_refresh::Refresh;
