//! Backfills: past instants of a schedule, run on request.
//!
//! Promises: the instants of a request are recorded before anything runs, one row each, and each of
//! these rows reaches an end. One transaction starts a run: it queues the run, names it in the
//! backfill's row, and adds a row to the ledger if the instant has none. So a crash loses nothing
//! and duplicates nothing, whenever it happens. Across all backfills, at most one live run exists
//! per instant: a unique key ensures that.
//!
//! A backfill does not depend on the schedule being enabled and never moves its cursor; existing
//! verdicts stay. When the cursor passes later, the ledger skips the rows that already exist
//! (`timetable::taken`). Its runs have a limit of their own and do not block others: the schedule's
//! overlap policy does not count them.
//!
//! - `window`: the fires of a window, within the limit
//! - `standing`: the state of an instant, and what it means for a backfill; pure
//! - `survey`: reads the facts for that from the tables
//! - `choose`: which waiting fires start; pure
//! - `turn`: one backfill, one transaction: records what has ended, starts new runs
//! - `service`: handles all open backfills repeatedly

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
    standing::{InstantFacts, InstantState, selects},
    survey::survey,
    window::{MAX, TooMany, Window},
};
