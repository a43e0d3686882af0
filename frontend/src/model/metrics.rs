//! Figures over time.

use serde::Deserialize;

use super::{RunState, Verdict};
use crate::time::Moment;

/// The settled runs and fires, step by step.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunStats {
    pub(crate) from: Moment,
    pub(crate) until: Moment,
    pub(crate) step_seconds: i64,
    pub(crate) is_complete: bool,
    pub(crate) points: Vec<StatPoint>,
}

/// The figures of one step.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatPoint {
    pub(crate) at: Moment,
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) timed_out: i64,
    pub(crate) cancelled: i64,
    pub(crate) skipped: i64,
    pub(crate) missed: i64,
    pub(crate) abandoned: i64,
    pub(crate) durations: Option<Percentiles>,
    pub(crate) latenesses: Option<Percentiles>,
}

/// Percentiles of a duration, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: i64,
    pub(crate) p95: i64,
    pub(crate) p99: i64,
}

impl Percentiles {
    pub(crate) fn all(self) -> [i64; 3] {
        [self.p50, self.p95, self.p99]
    }
}

/// The current figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metrics {
    pub(crate) live_runs: i64,
    pub(crate) pending_handoffs: i64,
    pub(crate) oldest_unclaimed_ms: Option<i64>,
    pub(crate) executions_per_minute: f64,
    pub(crate) failed_executions_rate: Option<f64>,
    pub(crate) durations: Option<Percentiles>,
    pub(crate) latenesses: Option<Percentiles>,
}

/// A schedule with the figures of its runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleFigures {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) stats: ScheduleStats,
    /// The last fires, newest first.
    pub(crate) recent_fires: Vec<FireTrace>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleStats {
    pub(crate) runs: i64,
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) durations: Option<Percentiles>,
    pub(crate) latenesses: Option<Percentiles>,
    pub(crate) is_complete: bool,
}

/// The part of a fire that a bar shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct FireTrace {
    pub(crate) verdict: Verdict,
    pub(crate) run: Option<RunTrace>,
}

/// The part of a fire's run that a bar shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunTrace {
    pub(crate) state: RunState,
    pub(crate) duration_ms: Option<i64>,
}
