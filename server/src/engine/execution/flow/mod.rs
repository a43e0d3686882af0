//! Runs of several tasks, called flows.
//! One node holds a whole run and executes its tasks concurrently.
//!
//! `plan` decides what happens next. From the state of the tasks it computes which tasks begin,
//! which are skipped, and whether the run waits, is parked or has settled.
//! No state of a run is only in memory: its `task_run` rows contain everything.
//! The next node that takes the run reads these rows and continues from there.
//! So a task that succeeded is never repeated, and a task that was in progress is tried again.
//!
//! Each step of a run (attempts that ended, attempts that begin, skipped tasks,
//! the run's new state) is one write that names the hold.
//! If the hold is gone, nothing is written, and the tasks on this node are stopped.
//!
//! A run of one task without a time limit of its own needs
//! none of this and is executed by `attempt`.
//!
//! - `progress`: computes the state of a task from its attempts; no IO
//! - `plan`: decides what happens next; no IO
//! - `results`: merges the outputs of tasks; no IO
//! - `again`: decides which results are kept when a settled run is rerun; no IO
//! - `conductor`: executes a run
//! - `steps`: writes the steps of all runs in batches

mod again;
mod conductor;
mod plan;
mod progress;
mod results;
mod steps;

pub(crate) use again::kept_tasks;
pub(in crate::engine) use conductor::spawn;
pub(in crate::engine) use plan::out_of_time;
pub(in crate::engine) use progress::retries;
pub(crate) use progress::{ShownTaskState, shown};
pub(crate) use results::merged_results;
pub(in crate::engine) use steps::{write, write_waiting};
