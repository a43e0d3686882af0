//! Checks whether the ledger of a schedule accounts for every instant at which the schedule should
//! have been due, and for no other. Computed without IO.
//!
//! The check shares nothing with the engine except the calculator. It computes the instants from
//! the history of the schedule's definition, and compares them with the rows. Calendars take no
//! instant away: an instant that they suppress has a row, too. Whether they rightly suppressed it,
//! and rightly let a fire run, is told by the history of the calendars. Jitter takes no instant
//! away either: it only delays a fire.
//!
//! - `life`: the timings that a schedule has had, and when each of them applied
//! - `compare`: compares their instants with the rows of the ledger
//! - `remembered`: what the calendars were at the time

mod compare;
mod life;
mod remembered;

pub use compare::{CheckedRange, LedgerComparison, LedgerFault, LedgerFinding};
pub(crate) use life::{CALENDAR_KEYS, RESTORED};
pub use life::{NamedCalendars, ScheduleLife, TimingPeriod};
pub use remembered::{RememberedCalendar, RememberedCalendars};
