use std::time::Duration;

use chrono::{DateTime, Utc};

/// What is counted in the database now and then.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// Schedules that are not deleted.
    pub schedules: u64,
    /// Those that will fire.
    pub active: u64,
    /// Runs that wait for a place.
    pub queued: u64,
    /// Claimed fires without a run.
    pub pending_handoffs: u64,
    /// Programs that pull tasks.
    pub workers: u64,
    /// Jobs that wait for a worker.
    pub jobs_waiting: u64,
    /// Jobs that a worker is at.
    pub jobs_held: u64,
    /// Queues in which jobs wait that no worker may take.
    pub queues_without_worker: u64,
    /// Nodes that live.
    pub nodes: u64,
    /// Fires that were missed or given up in the last hour.
    pub missed: u64,
    /// How long the oldest schedule that is due waits to be claimed.
    pub oldest_unclaimed: Duration,
    /// Each check of the health, and whether it is well.
    pub checks: Vec<(&'static str, bool)>,
    /// The canary, where there is one that has run.
    pub canary: Option<Canary>,
}

/// The last fire of the canary that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    /// When it was due.
    pub due_at: DateTime<Utc>,
    /// From then until its run had settled.
    pub latency: Duration,
}
