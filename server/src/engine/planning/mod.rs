//! Plans fires: each instant at which a schedule is due gets its row in the ledger.
//!
//! - `planner`: claims due schedules; `lateness`: explains why a claim was late
//! - `accounting`: records the instants of a pause when it ends; `closing`: records those of a
//!   timing that an edit ends; both use `gap`, which reads them part by part
//! - `prepared`: builds a schedule's timetable before the transaction that needs it
//! - `allowance`: counts the fires of schedules whose number of fires is limited
//! - `buffer`: keeps fires that wait for a blocking run,
//!   and releases the next one when that run has settled
//! - `backfill`: runs past instants on request
//! - `windows`: maintenance windows, which pause schedules as planned
//! - `zones`: recomputes the cursors of schedules when zone rules change

pub mod accounting;
pub(crate) mod allowance;
pub mod backfill;
pub(crate) mod buffer;
pub(crate) mod closing;
pub(crate) mod gap;
pub(crate) mod lateness;
pub(crate) mod planner;
pub mod prepared;
pub(crate) mod windows;
pub(crate) mod zones;
