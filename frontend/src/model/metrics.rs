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
    /// The average number of runs that waited for a node or for their group. Unknown for a tag or a schedule.
    pub(crate) average_waiting_runs: Option<f64>,
    /// The average number of jobs that waited for a worker. Unknown for a tag or a schedule.
    pub(crate) average_waiting_jobs: Option<f64>,
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

/// The namespaces that the user may see, with what settled in them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamespaceComparison {
    pub(crate) from: Moment,
    pub(crate) until: Moment,
    /// The namespaces, the busiest first.
    pub(crate) namespaces: Vec<NamespaceFigures>,
    /// Whether there are more namespaces than these.
    pub(crate) is_cut: bool,
}

/// What settled in one namespace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct NamespaceFigures {
    pub(crate) namespace: String,
    /// The figures of the whole range.
    pub(crate) total: SettledFigures,
    /// The figures of each step.
    pub(crate) points: Vec<SettledFigures>,
}

/// What settled in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettledFigures {
    succeeded: i64,
    failed: i64,
    timed_out: i64,
    cancelled: i64,
    missed: i64,
    abandoned: i64,
    durations: Option<P95>,
    latenesses: Option<P95>,
    average_waiting_runs: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct P95 {
    p95: i64,
}

impl SettledFigures {
    /// Runs that ended.
    pub(crate) fn ended(&self) -> i64 {
        self.succeeded + self.cancelled + self.failed()
    }

    /// Runs that failed or timed out.
    pub(crate) fn failed(&self) -> i64 {
        self.failed + self.timed_out
    }

    /// Fires that were missed or given up.
    pub(crate) fn lost(&self) -> i64 {
        self.missed + self.abandoned
    }

    /// The average number of runs that waited, if it was asked for.
    pub(crate) fn waiting_runs(&self) -> Option<f64> {
        self.average_waiting_runs
    }

    /// The 95th percentile of the durations, in milliseconds.
    pub(crate) fn p95_duration(&self) -> Option<i64> {
        self.durations.map(|durations| durations.p95)
    }

    /// The 95th percentile of the latenesses, in milliseconds.
    pub(crate) fn p95_lateness(&self) -> Option<i64> {
        self.latenesses.map(|latenesses| latenesses.p95)
    }
}

/// The current figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metrics {
    pub(crate) live_runs: i64,
    /// Runs that wait for a node or for their group, and jobs that wait for a worker.
    pub(crate) waiting_runs: i64,
    pub(crate) waiting_jobs: i64,
    /// Claimed fires that have no run yet.
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
    /// The range in which the runs were created.
    pub(crate) from: Moment,
    pub(crate) until: Moment,
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
