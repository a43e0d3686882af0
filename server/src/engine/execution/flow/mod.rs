//! Runs of several tasks: a flow. One node holds the whole run; its tasks work there side by side.
//!
//! What happens next is decided by `plan`, a function from where the tasks stand to what begins,
//! what is skipped, and whether the run waits, is parked or has settled. Nothing of a run is kept
//! in memory that is not in its `task_run` rows: whoever takes it next reads them and goes on where
//! they end, so what has succeeded is never done again, and what was at work is tried again.
//!
//! Each step of a run (attempts that ended, attempts that begin, tasks that are skipped, what
//! becomes of the run) is one write that names the hold. If the hold is gone, nothing of it is
//! written, and the tasks here are stopped.
//!
//! A run of one task without a limit of its own needs none of this and does not come here.
//!
//! - `standing`: where a task stands, from its attempts; pure
//! - `plan`: what happens next; pure
//! - `results`: what tasks give back, merged; pure
//! - `again`: what of a settled run is kept when it is run again from where it failed; pure
//! - `conductor`: carries a run out
//! - `steps`: writes the steps of all runs in batches

mod again;
mod conductor;
mod plan;
mod results;
mod standing;
mod steps;

pub(crate) use again::kept_tasks;
pub(in crate::engine) use conductor::spawn;
pub(in crate::engine) use plan::out_of_time;
pub(crate) use results::merged_results;
pub(in crate::engine) use standing::retries;
pub(crate) use standing::{Shown, shown};
pub(in crate::engine) use steps::{write, write_waiting};
