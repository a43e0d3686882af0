//! Attempts that workers execute.
//!
//! Promises: an attempt of a `worker` target is one job in the tables, and ends with it. The node
//! that holds the run waits for the job as it would for a response, so retries, timeouts,
//! cancellation and recovery work as for every other target. The node records every few seconds
//! that it is waiting; if no node waits for a job, a worker's reports on it change nothing. A
//! worker that does not report for the length of the job's lease loses the job.
//!
//! However many attempts wait, a node queries the tables for all of them at once, whenever
//! something was written: `watcher`. `desk` handles one attempt.

mod desk;
mod watcher;

use std::time::Duration;

use chrono::TimeDelta;

pub(crate) use desk::Desk;
pub(super) use watcher::forget;

/// A worker that does not report for this long is removed, and has to register again.
pub(crate) const SILENT: TimeDelta = TimeDelta::seconds(60);

/// How long a job stays leased without a report from its worker.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
