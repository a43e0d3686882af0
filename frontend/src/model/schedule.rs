//! Schedules, in a row and in full.

use super::{
    Backoff, CatchUp, GapPolicy, Keyed, OverlapHourPolicy, OverlapPolicy, PreviewFire, RunState,
    ScheduleState, Warning,
};
use crate::time::Moment;

/// Why a schedule stands still.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pause {
    pub(crate) reason: String,
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) until: Option<Moment>,
}

/// The last 24 hours, by what became of the fires.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) running: i64,
    pub(crate) skipped: i64,
    pub(crate) missed: i64,
}

/// A schedule in a list or an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduleRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) note: String,
    pub(crate) tags: Vec<String>,
    pub(crate) version: i64,
    pub(crate) state: ScheduleState,
    pub(crate) pause: Option<Pause>,
    pub(crate) expressions: Vec<String>,
    pub(crate) zone: String,
    pub(crate) description: String,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) workflow: String,
    pub(crate) next_fire_at: Option<Moment>,
    pub(crate) last_fire_at: Option<Moment>,
    pub(crate) live_runs: i64,
    pub(crate) tally: Tally,
    /// Id and state of the latest run.
    pub(crate) last_run: Option<(String, RunState)>,
}

impl Keyed for ScheduleRow {
    fn key(&self) -> &str {
        &self.id
    }
}

/// Everything that the schedule's page shows, its ledger and runs apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduleDetail {
    pub(crate) row: ScheduleRow,
    pub(crate) policy: Policy,
    pub(crate) tasks: Vec<Task>,
    pub(crate) misfire: Misfire,
    pub(crate) overlap: OverlapPolicy,
    pub(crate) start_deadline_seconds: Option<i64>,
    pub(crate) context: serde_json::Value,
    /// The module file that declares it, if one does.
    pub(crate) module: Option<String>,
    pub(crate) created_at: Moment,
    pub(crate) updated_at: Moment,
    pub(crate) next_fires: Vec<PreviewFire>,
    pub(crate) versions: Vec<Version>,
}

/// The part of a timing that rows do not show.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    pub(crate) gap: GapPolicy,
    pub(crate) overlap: OverlapHourPolicy,
    pub(crate) start_at: Option<Moment>,
    pub(crate) end_at: Option<Moment>,
    pub(crate) jitter_seconds: i64,
}

/// What happens to fires that were not started in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Misfire {
    pub(crate) catch_up: CatchUp,
    pub(crate) grace_seconds: i64,
    pub(crate) max: i64,
    pub(crate) spacing_seconds: i64,
    pub(crate) window_seconds: i64,
}

/// One step of the workflow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) timeout_seconds: f64,
    pub(crate) kill_grace_seconds: f64,
    pub(crate) retry: Retry,
}

/// How a task acts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Http {
        method: String,
        url: String,
        headers: Vec<(String, String)>,
        body: Option<String>,
        expected_status: Vec<String>,
        signed: bool,
    },
    Command {
        program: Option<String>,
        args: Vec<String>,
        script: Option<String>,
        directory: Option<String>,
        user: Option<String>,
    },
    Noop {
        note: String,
    },
}

/// When a failed attempt is made again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Retry {
    pub(crate) max_attempts: i64,
    pub(crate) backoff: Backoff,
    pub(crate) initial_seconds: f64,
    pub(crate) max_seconds: f64,
    pub(crate) jitter: f64,
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Version {
    pub(crate) version: i64,
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) change: String,
}
