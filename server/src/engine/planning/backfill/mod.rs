//! Backfills run past instants of a schedule on request.
//!
//! The instants of a request are recorded before anything runs, one row each, and each row reaches
//! a final state. One transaction starts a run: it queues the run, names it in the backfill's row,
//! and adds a row to the ledger if the instant has none.
//! So a crash at any time loses nothing and duplicates nothing.
//! A unique key ensures that all backfills together have at most one live run per instant.
//!
//! A backfill does not need the schedule to be enabled, never moves the schedule's cursor, and
//! leaves existing verdicts as they are. When the cursor passes later, the ledger skips rows that
//! already exist (`timetable::taken`). A backfill's runs have a limit of their own and do not block
//! others: the schedule's overlap policy does not count them.
//!
//! - `window`: the fires of a window, up to the limit
//! - `standing`: the state of an instant, and what it means for a backfill; no IO
//! - `survey`: reads the facts about instants from the tables
//! - `choose`: decides which waiting fires start; no IO
//! - `turn`: advances one backfill in one transaction: records ended runs, and starts new ones
//! - `service`: gives all open backfills their turns

mod choose;
mod service;
mod standing;
mod survey;
mod turn;
mod window;

pub(in crate::engine) use self::service::BackfillRunner;
pub(crate) use self::turn::stopped;
pub use self::{
    service::BackfillReport,
    standing::{InstantFacts, InstantState, selects},
    survey::survey,
    window::{MAX, TooMany, Window},
};
