//! Attempts that workers carry out.
//!
//! Promises: an attempt of a `worker` target is one job in the tables, and ends with it. The node that
//! holds the run waits for the job as it would for an answer, so retries, timeouts, cancelling and
//! recovery are those of every target. It says every few seconds that it waits: the words of workers
//! about a job that nobody waits for change nothing. A worker that is not heard for the job's lease
//! has lost it.
//!
//! However many attempts wait, a node asks the tables for all of them at once, whenever something was
//! written: `watcher`. `desk` carries out one attempt.

mod desk;
mod watcher;

use std::time::Duration;

use chrono::TimeDelta;

pub(crate) use desk::Desk;
pub(super) use watcher::forget;

/// A worker that is not heard for so long is forgotten, and has to register again.
pub(crate) const SILENT: TimeDelta = TimeDelta::seconds(60);

/// Without a word from its worker a job is lost after this long.
const LEASE: Duration = Duration::from_secs(30);
