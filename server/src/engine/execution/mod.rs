//! Executes runs, from the hand-off of a fire to the row with the outcome.
//!
//! - `handoff`: turns a fire into a run
//! - `dispatcher`: takes runs that wait for a place or for their next attempt
//! - `attempt`: executes an attempt; `logs`: writes its output
//! - `settle`: decides what an outcome means for the run; `settler`: writes it
//! - `flow`: executes runs of several tasks
//! - `recovery`: finds the work that a dead process left behind

pub(crate) mod attempt;
pub(crate) mod dispatcher;
pub(crate) mod flow;
pub(crate) mod handoff;
pub(crate) mod logs;
pub(crate) mod recovery;
pub(crate) mod settle;
pub(crate) mod settler;
