//! Decides on due instants: each instant at which a schedule is due gets its row in the ledger.
//!
//! - `planner`: claims due schedules; `lateness`: why a claim was late
//! - `accounting`: closes the gap in the ledger after a pause, `closing` at an edit; both `gap` by
//!   part
//! - `allowance`: counts the fires of schedules with a limited number of fires
//! - `buffer`: keeps fires that wait for a blocking run, and releases the next one when that run
//!   has settled
//! - `backfill`: runs past instants on request
//! - `zones`: recomputes upcoming instants when zone rules change

pub mod accounting;
pub(crate) mod allowance;
pub mod backfill;
pub(crate) mod buffer;
pub(crate) mod closing;
pub(crate) mod gap;
pub(crate) mod lateness;
pub(crate) mod planner;
pub(crate) mod zones;
