//! Messages from the tasks that execute attempts to the tasks that write.

use tokio::sync::oneshot;

use crate::store::{flows::FlowStep, logs::NewChunk};

/// A message to the log writer.
#[derive(Debug)]
pub(in crate::engine) enum LogMessage {
    /// Write these lines.
    Lines(NewChunk),
    /// Confirm once everything before this message is written.
    Flush(oneshot::Sender<()>),
}

/// A step to write, and a channel for the result.
#[derive(Debug)]
pub(in crate::engine) struct StepRequest {
    pub(in crate::engine) step: FlowStep,
    pub(in crate::engine) answer: oneshot::Sender<StepOutcome>,
}

/// The result of writing a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum StepOutcome {
    /// The step is in the tables.
    Done,
    /// The hold was lost: another node decides about the run.
    Lost,
    /// The database refuses it on every attempt, which is a bug.
    Refused,
}
