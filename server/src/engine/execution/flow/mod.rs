//! Runs of several tasks: a flow. One node holds the whole run and executes its tasks concurrently.
//!
//! `plan` decides what happens next: a function from the state of the tasks to which ones begin,
//! which are skipped, and whether the run waits, is parked or has settled. Nothing about a run is
//! kept only in memory: its `task_run` rows contain everything. The next node to take the run reads
//! them and continues from there, so a succeeded task is never repeated, and a task that was at
//! work is tried again.
//!
//! Each step of a run (attempts that ended, attempts that begin, skipped tasks, the run's new
//! state) is one write that names the hold. If the hold is gone, nothing is written, and the tasks
//! here are stopped.
//!
//! A run of one task without a time limit of its own needs none of this and does not come here.
//!
//! - `standing`: the state of a task, from its attempts; pure
//! - `plan`: what happens next; pure
//! - `results`: the merged outputs of tasks; pure
//! - `again`: which results of a settled run are kept when it is rerun from its failures; pure
//! - `conductor`: executes a run
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
pub(crate) use standing::{ShownTaskState, shown};
pub(in crate::engine) use steps::{write, write_waiting};
