//! Checks whether the ledger of a schedule accounts for every instant at which the schedule should
//! have been due, and for no other. Computed without IO.
//!
//! The check shares nothing with the engine except the calculator. It computes the instants from
//! the history of the schedule's definition, and compares them with the rows. Calendars take no
//! instant away: an instant that they suppress has a row, too. Neither does jitter, which only
//! delays a fire.
//!
//! - `life`: the timings that a schedule has had, and when each of them applied
//! - `compare`: compares their instants with the rows of the ledger

mod compare;
mod life;

pub use compare::{CheckedRange, LedgerComparison, LedgerFault, LedgerFinding};
pub(crate) use life::RESTORED;
pub use life::{ScheduleLife, TimingPeriod};
