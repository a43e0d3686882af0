//! What becomes of runs: from the fire that is handed to a node to the row that says how it ended.
//!
//! - `handoff`: makes a fire a run
//! - `dispatcher`: takes runs that wait for room or for their next attempt
//! - `attempt`: carries one out; `logs`: what it says meanwhile
//! - `settle`: what an outcome means; `settler`: writes it down
//! - `flow`: conducts runs of several tasks
//! - `recovery`: finds what a dead process left

pub(crate) mod attempt;
pub(crate) mod dispatcher;
pub(crate) mod flow;
pub(crate) mod handoff;
pub(crate) mod logs;
pub(crate) mod recovery;
pub(crate) mod settle;
pub(crate) mod settler;
