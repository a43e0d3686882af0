//! Runs, their attempts, and their log.

use super::{FireKind, Keyed, LogStream, RunState, RunTrigger, TaskRunState, Verdict};
use crate::time::Moment;

/// The schedule that a run belongs to, as far as a row shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduleRef {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) zone: String,
}

/// A run in a list or an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRow {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) trigger: RunTrigger,
    pub(crate) scheduled_at: Moment,
    pub(crate) created_at: Moment,
    pub(crate) started_at: Option<Moment>,
    pub(crate) finished_at: Option<Moment>,
    pub(crate) lateness_ms: Option<i64>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) attempt: i64,
    pub(crate) max_attempts: i64,
    pub(crate) node: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) is_recovery: bool,
    pub(crate) workflow: String,
    pub(crate) schedule: Option<ScheduleRef>,
}

impl RunRow {
    /// The schedule's name, or the workflow's for a run without one.
    pub(crate) fn title(&self) -> String {
        self.schedule.as_ref().map_or_else(|| self.workflow.clone(), |s| s.name.clone())
    }

    pub(crate) fn zone(&self) -> Option<String> {
        self.schedule.as_ref().map(|s| s.zone.clone())
    }
}

impl Keyed for RunRow {
    fn key(&self) -> &str {
        &self.id
    }
}

/// Everything that the run's page shows, its log apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunDetail {
    pub(crate) row: RunRow,
    pub(crate) workflow_version: i64,
    pub(crate) available_at: Moment,
    pub(crate) context: serde_json::Value,
    pub(crate) idempotency_key: String,
    pub(crate) retry_of: Option<String>,
    /// Who cancelled it, and why.
    pub(crate) cancel: Option<(String, Option<String>, Moment)>,
    pub(crate) origin: Option<Origin>,
    pub(crate) attempts: Vec<Attempt>,
}

/// The fire that a run came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origin {
    pub(crate) verdict: Verdict,
    pub(crate) kind: FireKind,
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) recovery_attempts: i64,
    pub(crate) reason: String,
}

/// One attempt at one task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) id: String,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    pub(crate) state: TaskRunState,
    pub(crate) started_at: Moment,
    pub(crate) finished_at: Option<Moment>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) node: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) output: Option<serde_json::Value>,
}

/// One line of a run's log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) cursor: String,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    pub(crate) at: Moment,
    pub(crate) stream: LogStream,
    pub(crate) text: String,
}
