use std::time::Duration;

use chrono::{DateTime, Utc};

/// Figures that are counted in the database periodically.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// Schedules that are not deleted.
    pub schedules: u64,
    /// Schedules that will fire.
    pub active: u64,
    /// Runs that wait for a place.
    pub queued: u64,
    /// Claimed fires without a run.
    pub pending_handoffs: u64,
    /// Registered workers.
    pub workers: u64,
    /// Jobs that wait for a worker.
    pub jobs_waiting: u64,
    /// Jobs that a worker holds.
    pub jobs_held: u64,
    /// Queues with waiting jobs that no worker may take.
    pub queues_without_worker: u64,
    /// Schedules and backfills that the server has paused, as far as they are counted.
    pub self_paused: u64,
    /// Live nodes.
    pub nodes: u64,
    /// Fires that were missed or abandoned in the last hour.
    pub missed: u64,
    /// How long the oldest due schedule has waited to be claimed.
    pub oldest_unclaimed: Duration,
    /// Each health check, and whether it is healthy.
    pub checks: Vec<(&'static str, bool)>,
    /// The budgets of tags, as far as they are read.
    pub budgets: Vec<BudgetSample>,
    /// The canary, if there is one that has run.
    pub canary: Option<CanaryFire>,
}

/// The canary's last successful fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanaryFire {
    /// When the fire was due.
    pub due_at: DateTime<Utc>,
    /// The time from `due_at` until the fire's run had settled.
    pub latency: Duration,
}

/// A figure that the budget of a tag limits. A lateness is in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetSample {
    /// The namespace's name.
    pub namespace: String,
    /// The tag.
    pub tag: String,
    /// `missed`, `failed`, `stalled` or `late`.
    pub figure: &'static str,
    /// The measured value.
    pub value: f64,
    /// The limit that applies.
    pub limit: f64,
}
