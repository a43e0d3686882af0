//! Messages from the tasks that execute attempts to the tasks that write.

use tokio::sync::oneshot;

use crate::store::{flows::FlowStep, logs::NewChunk};

/// A message to the log writer.
#[derive(Debug)]
pub(in crate::engine) enum LogMessage {
    /// Write these log lines.
    Lines(NewChunk),
    /// Confirm when all lines sent before this message are written.
    Flush(oneshot::Sender<()>),
}

/// A request to write a step, with the channel for its result.
#[derive(Debug)]
pub(in crate::engine) struct StepRequest {
    pub(in crate::engine) step: FlowStep,
    pub(in crate::engine) answer: oneshot::Sender<StepOutcome>,
}

/// The result of writing a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum StepOutcome {
    /// The step has been written to the tables.
    Done,
    /// The node has lost its hold: another node decides about the run.
    Lost,
    /// The database refuses the step on every attempt, which is a bug in Carillon.
    Refused,
}
