use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

/// One attempt at one task: the input of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The run to which the task belongs.
    pub run_id: Uuid,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// Name of the task.
    pub task: String,
    /// Name of the namespace.
    pub namespace: String,
    /// Id of the namespace; nil for the requests of alerts and pings, which do not belong to a
    /// task.
    pub namespace_id: Uuid,
    /// The run's priority; 0 for a call without a run.
    pub priority: i16,
    /// Name of the schedule; `None` for a run without one.
    pub schedule: Option<String>,
    /// Id of the schedule; `None` for a run without one.
    pub schedule_id: Option<Uuid>,
    /// Version of the schedule when the attempt started; `None` for a call without one.
    pub schedule_version: Option<i32>,
    /// The scheduled instant of the run: when the schedule was due, or the instant given for a
    /// manual run, or else the time of the request.
    pub scheduled_at: Option<DateTime<Utc>>,
    /// Identifies the run for a receiver. It is the same for all attempts, so the receiver
    /// recognises a repetition.
    pub idempotency_key: String,
    /// The W3C trace context to pass on.
    pub traceparent: Option<String>,
    /// The JSON context that travels with the run.
    pub context: Value,
    /// How long the target may take before it is asked to stop.
    pub timeout: Duration,
    /// How long the target may take to stop before it is killed.
    pub kill_grace: Duration,
}

/// One line of a task's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When the line was read.
    pub at: DateTime<Utc>,
    /// The stream that the line came from.
    pub stream: Stream,
    /// The text without its line end; valid UTF-8 without NUL, at most 16 KiB.
    pub text: String,
    /// How many bytes of a longer line were left out at its end.
    pub left_out: usize,
}

/// The source of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The program's standard output.
    Stdout,
    /// The program's standard error.
    Stderr,
    /// Carillon itself.
    System,
}

/// How an attempt ended. Every variant contains the output up to that point.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptOutcome {
    /// The attempt had the expected result.
    Succeeded {
        /// The output: status and body, or exit code.
        output: Value,
    },
    /// The attempt did not have the expected result, or could not be started.
    Failed {
        /// The failed step and the reason, in one line. It may quote output, so it must be masked.
        message: String,
        /// The output.
        output: Value,
    },
    /// The attempt took longer than the invocation's timeout.
    TimedOut {
        /// The step that was in progress, and how the attempt was stopped.
        message: String,
        /// The output.
        output: Value,
    },
    /// A request stopped the attempt.
    Cancelled {
        /// The output.
        output: Value,
    },
}
