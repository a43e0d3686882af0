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
//! - `calendar_history`: the versions that a calendar has had
//! - `compare`: compares the instants with the rows of the ledger

mod calendar_history;
mod compare;
mod life;

pub use calendar_history::{CalendarHistories, CalendarHistory};
pub use compare::{CheckedRange, LedgerComparison, LedgerFault, LedgerFinding};
pub(crate) use life::{CALENDAR_KEYS, RESTORED};
pub use life::{NamedCalendars, ScheduleLife, TimingPeriod};
