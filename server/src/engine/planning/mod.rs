//! What becomes of instants: each at which a schedule is due gets its row in the ledger.
//!
//! - `planner`: claims what is due; `lateness`: why that was late
//! - `accounting`: closes the ledger's gap after a pause, `closing` at an edit; both `gap` by part
//! - `allowance`: counts the fires of schedules that may have only so many
//! - `buffer`: keeps the fires that wait for runs in their way, and hands on the next when these have
//!   settled
//! - `backfill`: runs instants of the past that somebody ordered
//! - `zones`: computes anew what is to come when the rules of zones change

pub mod accounting;
pub(crate) mod allowance;
pub mod backfill;
pub(crate) mod buffer;
pub(crate) mod closing;
pub(crate) mod gap;
pub(crate) mod lateness;
pub(crate) mod planner;
pub(crate) mod zones;
