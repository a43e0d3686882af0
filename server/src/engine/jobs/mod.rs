//! Attempts that are executed by workers.
//!
//! An attempt at a `worker` target is one job in the tables, and ends with the job.
//! The node that holds the run waits for the job as it would for a response. So retries, timeouts,
//! cancellation and recovery work as for every other target. Every few seconds the node records
//! that it is waiting; if no node waits for a job, a worker's reports on it change nothing.
//! A worker that does not report for the length of the job's lease loses the job.
//!
//! `desk` handles one attempt; `outcome` says what the end of its job means.
//! `watcher` queries the tables for all attempts of a node at once, whenever something was written.

mod desk;
mod outcome;
mod watcher;

use std::time::Duration;

use chrono::TimeDelta;

pub(crate) use desk::Desk;
pub(super) use watcher::forget;

/// A worker that does not report for this long is removed and must register again.
pub(crate) const SILENT: TimeDelta = TimeDelta::seconds(60);

/// How long a worker keeps a job without reporting.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
