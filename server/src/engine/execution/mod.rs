//! Executes runs: from a fire that is handed to a node to the row with the outcome.
//!
//! - `handoff`: turns a fire into a run
//! - `dispatcher`: takes runs that wait for capacity or for their next attempt
//! - `attempt`: executes an attempt; `logs`: its output
//! - `settle`: decides what an outcome means; `settler`: writes it
//! - `flow`: conducts runs of several tasks
//! - `recovery`: finds the work that a dead process left behind

pub(crate) mod attempt;
pub(crate) mod dispatcher;
pub(crate) mod flow;
pub(crate) mod handoff;
pub(crate) mod logs;
pub(crate) mod recovery;
pub(crate) mod settle;
pub(crate) mod settler;
