//! Runs, their attempts, and their log.

use serde::Deserialize;
use serde_json::Value;

use super::{
    FireKind, LogStream, Row, RunForecast, RunState, RunTaskState, RunTrigger, TaskCondition,
    TaskRunState, Verdict, fire::Reason, full::Full,
};
use crate::time::Moment;

/// An object with only its name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// An object with only its id, for a link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Related {
    pub(crate) id: String,
}

/// The workflow of a run, for a link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowRef {
    pub(crate) id: String,
    pub(crate) deleted_at: Option<Moment>,
}

/// Whether the schedule of a run still exists.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunOwner {
    pub(crate) deleted_at: Option<Moment>,
}

/// A run's schedule, with the fields that a row shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ScheduleRef {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) timing: ZoneRef,
}

/// A timing with only its zone.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ZoneRef {
    pub(crate) zone: String,
}

/// A run in a list or an event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRow {
    pub(crate) id: String,
    pub(crate) namespace: String,
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
    pub(crate) ending: Option<Ending>,
    pub(crate) workflow: Named,
    pub(crate) schedule: Option<ScheduleRef>,
}

/// How the last attempt of a run ended.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ending {
    exit_code: Option<i64>,
    signal: Option<String>,
    http_status: Option<i64>,
}

impl Ending {
    pub(crate) fn words(&self) -> Option<String> {
        let status = self.http_status.map(|status| format!("HTTP {status}"));
        let exit = || self.exit_code.map(|code| format!("exit {code}"));
        status.or_else(exit).or_else(|| self.signal.clone())
    }
}

impl RunRow {
    /// The schedule's name, or the workflow's name for a run without a schedule.
    pub(crate) fn title(&self) -> &str {
        self.schedule.as_ref().map_or(&self.workflow.name, |schedule| &schedule.name)
    }

    pub(crate) fn zone(&self) -> Option<String> {
        self.schedule.as_ref().map(|schedule| schedule.timing.zone.clone())
    }
}

impl Row for RunRow {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A run that changed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct RunEvent {
    pub(crate) run: RunRow,
}

/// Everything that the run's page shows, except its log.
pub(crate) type RunDetail = Full<RunRow, RunMore>;

/// The fields of a run that a row does not show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunMore {
    pub(crate) work: WorkflowRef,
    pub(crate) owner: Option<RunOwner>,
    pub(crate) workflow_version: i64,
    pub(crate) available_at: Moment,
    pub(crate) context: Value,
    pub(crate) idempotency_key: String,
    pub(crate) retry_of: Option<String>,
    /// The backfill that the run belongs to.
    pub(crate) backfill: Option<Related>,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) fire: Option<Origin>,
    /// The forecast of a running run, if there are enough earlier runs to estimate from.
    pub(crate) forecast: Option<RunForecast>,
    pub(crate) waits_for: Vec<Wait>,
    pub(crate) tasks: Vec<RunTask>,
    /// The merged outputs of the run's tasks.
    pub(crate) output: Option<Value>,
}

impl RunMore {
    /// Whether the user may not see payloads. The server then sends a mask, a string, in place of the context.
    pub(crate) fn hides_payloads(&self) -> bool {
        self.context.is_string()
    }
}

/// A condition that a run waits for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Wait {
    pub(crate) text: String,
    pub(crate) until: Option<Moment>,
    /// The runs that block this run, oldest first.
    pub(crate) runs: Vec<Holder>,
}

/// A run that blocks another one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) started_at: Option<Moment>,
    pub(crate) workflow: Named,
    pub(crate) schedule: Option<Named>,
}

/// One task of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct RunTask {
    pub(crate) name: String,
    pub(crate) needs: Vec<String>,
    pub(crate) when: TaskCondition,
    pub(crate) state: RunTaskState,
    /// Whether the task was not run again, because it had succeeded in the run that this one
    /// repeats.
    pub(crate) kept: bool,
    pub(crate) attempts: Vec<Attempt>,
    /// The output that the task returned.
    pub(crate) output: Option<Value>,
}

/// Who cancelled a run, and why.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Cancel {
    pub(crate) by: String,
    pub(crate) reason: Option<String>,
    pub(crate) at: Moment,
}

/// The fire that a run came from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Origin {
    pub(crate) verdict: Verdict,
    pub(crate) kind: FireKind,
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) recovery_attempts: i64,
    pub(crate) reason: Reason,
}

/// One attempt at one task.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attempt {
    pub(crate) attempt: i64,
    pub(crate) state: TaskRunState,
    pub(crate) started_at: Moment,
    pub(crate) finished_at: Option<Moment>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) node: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) output: Option<Value>,
}

impl Attempt {
    /// A program's exit code, or the status of an HTTP response.
    pub(crate) fn code(&self) -> Option<String> {
        let output = self.output.as_ref()?;
        let number = |name: &str| output[name].as_i64();
        let exit = || number("exit_code").map(|code| format!("exit {code}"));
        number("status")
            .map(|status| format!("HTTP {status}"))
            .or_else(exit)
            .or_else(|| output["signal"].as_str().map(str::to_owned))
    }
}

/// A log line of a run, and its cursor.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LogEvent {
    pub(crate) cursor: String,
    pub(crate) line: Line,
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Line {
    pub(crate) task: String,
    pub(crate) attempt: i64,
    pub(crate) at: Moment,
    pub(crate) stream: LogStream,
    pub(crate) text: String,
}
