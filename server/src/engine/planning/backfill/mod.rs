//! Backfills: a schedule's instants of the past, run because somebody ordered it.
//!
//! Promises: what an order names is written down before anything runs, instant by instant, and
//! each of these rows comes to an end. A start is intent before action in one transaction: the
//! backfill's row gets its run, the run is queued, and an instant that nothing accounted for gets
//! its row in the ledger. So a crash loses nothing and doubles nothing, whenever it comes. Of all
//! backfills, at most one run is alive for an instant: a unique key says so.
//!
//! It does not depend on the schedule being enabled and never touches its cursor; a verdict that
//! is there stays. What the ledger writes later, when the cursor comes by, goes around the rows
//! that are there (`timetable::taken`). Its runs have a limit of their own and are in nobody's way: the
//! schedule's overlap policy does not count them.
//!
//! - `window`: from a window to its fires, within the limit
//! - `standing`: what an instant has come to, and what that means for a backfill; pure
//! - `survey`: the facts for that, from the tables
//! - `choose`: which of the waiting fires start; pure
//! - `turn`: one backfill, one transaction: what has ended, what starts
//! - `service`: all open backfills, again and again

mod choose;
mod service;
mod standing;
mod survey;
mod turn;
mod window;

pub(in crate::engine) use self::service::Backfill;
pub(crate) use self::turn::stopped;
pub use self::{
    service::BackfillReport,
    standing::{Facts, InstantState, selects},
    survey::survey,
    window::{MAX, TooMany, Window},
};
